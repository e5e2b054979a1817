"""Reads tokenizers of every common format into the one table that psc needs: id -> bytes.

`load_tokenizer` takes a short name, a file, a folder or a Hugging Face id; `tokenizer_from_object` takes a tokenizer
that another library has loaded; `list_names` says which short names there are. One module per format does the reading.
"""

from psc.vocabulary.names import NamedTokenizer, list_names
from psc.vocabulary.resolve import load_tokenizer
from psc.vocabulary.transformers_object import tokenizer_from_object

__all__ = ["NamedTokenizer", "list_names", "load_tokenizer", "tokenizer_from_object"]
