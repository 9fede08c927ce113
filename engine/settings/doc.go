// Package settings is the table of the configuration parameters of sessions: their
// names, defaults, and the forms of their values, as PostgreSQL has them.
//
// It holds no value of any session and carries nothing out: what a parameter does when
// it is set is the session's business. Checks return a value as SHOW spells it.
//
// A new parameter is a line of All (or of the lists that it takes in, tuning and
// TimeoutSettings), and if it does something a case of Session.refresh in engine.
package settings
