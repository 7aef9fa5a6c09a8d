"""The students: what one is told to be, how it learns and answers, and how it is put to work."""
