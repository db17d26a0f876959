"""Default schedules, one file per class of kernel."""
