"""Made-up streams. Every row follows from its number, so any of them can be made at once."""
