"""Front ends, a folder each: text in a grammar language to the rules, or terminals and productions, that later stages read."""
