// Package blackhole is a sink that takes everything and keeps nothing: for
// measurements and for trying out views. It knows no options, and its deliverer
// remembers no epoch, so a restart delivers the log again, into nothing.
package blackhole
