"""Internal: What `corpusfmt --help` prints after the name of the program; `make pins` writes it."""

#: In narrower terminals it has other lines.
WIDTH = 80

OVERVIEW = """\
[OPTIONS] COMMAND [ARGS]...

  Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma,
  Croissant 1.0/1.1.

Options:
  --version                    Print the version and exit.
  --color <auto|always|never>  auto (a terminal; NO_COLOR and FORCE_COLOR are
                               respected), always or never.  [default: auto]
  --install-completion         Install completion for the current shell.
  --show-completion            Show completion for the current shell, to copy
                               it or customize the installation.
  -h, --help                   Show this message and exit.

Check:
  validate  Check corpora and descriptions against their format.
  fix       Repair findings that need no decision by the author; the rest of
            each file stays as it is.
  compare   Compare two releases of a corpus, document by document, in any
            formats.
  rule      List the rules, or explain some with reason, example and fix.

Convert:
  convert  Convert a corpus to another format.
  formats  List the formats and their versions.
  detect   Print the format of a path, and the evidence for it.

Describe:
  describe   Describe a corpus or any folder as Croissant, with sizes and
             SHA-256 of files, languages, and records.
  records    Print the records of a Croissant description.
  stats      Count what a corpus contains: documents, words, lengths,
             languages, sources, scripts, dates, domains, repeats.
  datasheet  Describe a corpus on one HTML page: size, languages, lengths,
             domains, dates, repetition, samples, verdict, provenance.
  show       Show documents of a corpus: the first ones, a random choice, or
             the one with an id or at a location.

Build:
  build   Build a corpus from WET files.
  plan    Estimate tasks, scratch, output, memory and CPU-hours of a build,
          from what a sample takes on this machine.
  recipe  List the recipes of `corpusfmt build`, or print one with the sources
          of its settings.

Release:
  gate    Run the steps of a release in order, and put all reports into one
          folder; the exit status is the worst of all steps.
  seal    Write MANIFEST.json for a corpus: every file with its size and
          SHA-256, and a digest of the whole.
  verify  Check every file of a release against its manifest, and list the
          files to download again.
  report  Work with saved reports.

Tools:
  lsp     Serve an editor: findings while typing, hover, completion and
          repairs, over standard input and output.
  mcp     Serve agents by the Model Context Protocol: validate, explain, fix
          as a diff, describe; nothing is written or fetched.
  doctor  Print versions, native kernels, extras, model and limits of the
          system.

  Exit status: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage; 3
  did not finish; 130 interrupted; 143 terminated."""
