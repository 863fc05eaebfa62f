"""Internal: The labels of fastText's lid.176, which OSCAR uses: their releases and other names."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import chain

#: The names of language directories in 1.0 and 1.1.
LABEL = re.compile(r"[a-z]{2,3}")

_LABELS = """
    af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de
    diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo
    io is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms
    mt mwl my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn
    sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf
    yi yo yue zh
"""
#: Every label of lid.176, in the order of the fastText documentation.
LABELS: tuple[str, ...] = tuple(_LABELS.split())

#: The 166 languages of the 2019 release (1.0).
RELEASE_2019: frozenset[str] = frozenset(LABELS) - {"co", "dty", "gv", "hif", "pfl", "rue", "sc", "sco", "vep", "vls"}

#: The 168 languages of the release 21.09 (1.1).
RELEASE_2021: frozenset[str] = (RELEASE_2019 - {"bcl", "yue"}) | {"gv", "rue", "sco", "vls"}

#: Names of languages in later releases (schema v2) and in 1.0 and 1.1 (None if missing there).
V2_LABELS: dict[str, str | None] = {"gsw": "als", "x-eml": "eml", "multi": None}

_THREE_LETTERS = """
    af:afr als:gsw,als am:amh an:arg ar:ara,arb as:asm av:ava az:aze,azj azb:azb ba:bak be:bel bg:bul bh:bih,bho
    bn:ben bo:bod bpy:bpy br:bre bs:bos bxr:bxr,bua ca:cat ce:che ckb:ckb,kur co:cos cs:ces cv:chv cy:cym da:dan
    de:deu dv:div el:ell eml:egl,rgn,eml en:eng eo:epo es:spa et:est,ekk eu:eus fa:fas,pes fi:fin fr:fra fy:fry
    ga:gle gd:gla gl:glg gn:grn gom:gom,kok gu:guj gv:glv he:heb hi:hin hr:hrv ht:hat hu:hun hy:hye ia:ina id:ind
    ie:ile io:ido is:isl it:ita ja:jpn jv:jav ka:kat kk:kaz km:khm kn:kan ko:kor ku:kur,kmr kv:kom,kpv kw:cor ky:kir
    la:lat lb:ltz li:lim lo:lao lt:lit lv:lav,lvs mg:mlg,plt mhr:mhr,chm mk:mkd ml:mal mn:mon,khk mr:mar mrj:mrj,chm
    ms:msa,zsm mt:mlt my:mya nah:nah ne:nep,npi nl:nld nn:nno,nor no:nor,nob oc:oci or:ori,ory os:oss pa:pan pl:pol
    pnb:pnb,pan ps:pus,pbt pt:por qu:que rm:roh ro:ron ru:rus sa:san sc:srd sd:snd sh:hbs,srp,hrv,bos si:sin sk:slk
    sl:slv so:som sq:sqi,aln sr:srp su:sun sv:swe sw:swa,swh ta:tam te:tel tg:tgk th:tha tk:tuk tl:tgl,fil tr:tur
    tt:tat ug:uig uk:ukr ur:urd uz:uzb,uzn vi:vie vo:vol wa:wln wuu:wuu,zho yi:yid,ydd yo:yor yue:yue,zho zh:zho,cmn
    arz:arz,ara diq:diq,zza lrc:lrc,lur mzn:mzn nds:nds vls:vls,nld
"""

_ISO_639_3 = {
    label: frozenset(names.split(",")) for label, names in (entry.split(":") for entry in _THREE_LETTERS.split())
}


def iso_639_3(label: str) -> frozenset[str]:
    """Return the ISO 639-3 codes of a label; a three-letter label is its own code unless the table has others."""
    return _ISO_639_3.get(label, frozenset({label}))


_OF_SEVERAL = {code for code, count in Counter(chain(*_ISO_639_3.values())).items() if count > 1}
_OF_CODES = {code: label for label, codes in _ISO_639_3.items() for code in codes - _OF_SEVERAL}
_NO_LANGUAGE = frozenset({"mul", "mis", "und", "zxx"})
_LONGEST_NAME = 100


@lru_cache(4096)
def label_of(language: str) -> str | None:
    """Return the label that OSCAR 1.x has for a language; None for what names no language or several.

    The language is named by its label, a code of ISO 639, a tag of BCP 47 (`zh-Hant`, also `deu_Latn`), or in English.
    """
    if language in LABELS or language in V2_LABELS:
        return V2_LABELS.get(language, language)
    from langcodes import Language, standardize_tag, tag_is_valid  # noqa: PLC0415 - few corpora need it

    if len(language) > _LONGEST_NAME:
        return None
    tag = language if tag_is_valid(language) else _english_names().get(language.casefold(), "und")
    given, usual = Language.get(tag, normalize=False), Language.get(standardize_tag(tag, macro=True))
    code = usual.language
    if code is None or code in _NO_LANGUAGE or not LABEL.fullmatch(code):
        return None
    label = code if code in LABELS else _OF_CODES.get(usual.to_alpha3(), code)
    # `not_eng` and `not_DE` would be Nomatsiguenga.
    is_odd = given.extlangs or (given.territory and label not in LABELS)
    return None if is_odd else label


@cache
def _english_names() -> dict[str, str]:
    """Return the codes of languages by their names in the registry of BCP 47."""
    from langcodes.registry_parser import parse_registry  # noqa: PLC0415 - see above

    names: dict[str, str] = {}
    for entry in parse_registry():
        if entry["Type"] == "language" and "Deprecated" not in entry:
            for name in entry["Description"]:
                names.setdefault(name.partition(" (")[0].casefold(), entry["Subtag"])
    return names
