"""Level 2: one pure definition per array, without order or memory."""
