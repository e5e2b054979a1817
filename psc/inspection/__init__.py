"""Looking at a compiled grammar: what may follow a text and why, where a text stops, random sentences, how a text can end."""
