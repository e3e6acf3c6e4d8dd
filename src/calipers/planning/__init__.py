"""Planning an experiment: how many queries, which measure, how deep to judge, how often to repeat."""
