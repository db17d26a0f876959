"""Level 4: flat storage, decided guards and explicit initialisation: what emitters read."""
