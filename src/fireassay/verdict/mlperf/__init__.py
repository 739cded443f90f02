"""Would MLPerf accept these logs?  Rules of training and inference, applied to log lines; without files, clocks or processes."""
