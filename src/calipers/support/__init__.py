"""Small modules that everything else uses: checks of values, lazy names, atomic files, words for numbers."""
