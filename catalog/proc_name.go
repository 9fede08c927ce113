package catalog

import "sync"

// procNames are the built-in functions by name and by number.
var procNames = sync.OnceValue(func() (n struct {
	oids  map[string][]uint32
	names map[uint32]string
}) {
	n.oids, n.names = map[string][]uint32{}, map[uint32]string{}
	add := func(oid uint32, name string) {
		n.oids[name] = append(n.oids[name], oid)
		n.names[oid] = name
	}
	for _, f := range dataLines("iofuncs", " ") {
		add(uint32(atoi(f[0])), f[1])
	}
	for _, f := range functions() {
		add(f.oid, f.name)
	}
	return n
})

// ProcOIDs returns the numbers of the built-in functions called name, one for each
// overload, as in pg_proc.
func ProcOIDs(name string) []uint32 { return procNames().oids[name] }

// ProcName returns the name of a built-in function.
func ProcName(oid uint32) (string, bool) {
	n, ok := procNames().names[oid]
	return n, ok
}
