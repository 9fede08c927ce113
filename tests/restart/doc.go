// Package restart tests what becomes of the data directory when the server is
// killed, restarted over and over, and started on directories it cannot use: the
// real process, as its user meets it.
package restart
