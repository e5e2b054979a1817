"""What a run did: on the terminal, and as one web page."""
