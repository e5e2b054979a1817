"""Writers of the bundled grammars that are too regular to write by hand: run one as a module and it writes its ``.lark`` files."""
