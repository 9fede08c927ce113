// Command streamdb is the server and its tools: serve, demo, bench, version,
// help.
//
// It reads the configuration (flags, environment, file, in that order of
// precedence), wires the engine, the connectors and the protocol server together
// and handles signals. It holds no logic of its own beyond that and the
// benchmark's measuring.
//
// To add a subcommand: a case in main.go and a file named after it.
package main
