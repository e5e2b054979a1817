"""The compiler: grammar text and a vocabulary in, an artifact's arrays out."""
