"""What a score could have been: ideal, worst, expected; normalisation between them; types of queries."""
