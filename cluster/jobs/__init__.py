"""From a jobs file to jobs: each one grammar for one tokenizer."""
