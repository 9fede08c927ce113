package catalog

import (
	"sync"
)

// Proc is a built-in function: a row of pg_proc by what names it.
type Proc struct {
	OID  uint32
	Name string
	Args []uint32 // types of the arguments
}

// procNames are the built-in functions by name and by number.
var procNames = sync.OnceValue(func() (n struct {
	named map[string][]*Proc
	byOID map[uint32]*Proc
}) {
	n.named, n.byOID = map[string][]*Proc{}, map[uint32]*Proc{}
	add := func(p *Proc) {
		n.named[p.Name] = append(n.named[p.Name], p)
		n.byOID[p.OID] = p
	}
	for _, f := range dataLines("iofuncs", " ") {
		p := &Proc{OID: uint32(atoi(f[0])), Name: f[1]}
		for _, a := range f[5:] {
			if a != "" {
				p.Args = append(p.Args, uint32(atoi(a)))
			}
		}
		add(p)
	}
	for _, f := range functions() {
		p := &Proc{OID: f.oid, Name: f.name}
		for _, t := range f.args {
			p.Args = append(p.Args, procType(t))
		}
		add(p)
	}
	return n
})

// ProcsNamed returns the built-in functions called name, one for each overload, as in
// pg_proc.
func ProcsNamed(name string) []*Proc { return procNames().named[name] }

// ProcByOID returns a built-in function; nil if there is none.
func ProcByOID(oid uint32) *Proc { return procNames().byOID[oid] }

// Proc is the function as a user's function is named.
func (f *Function) Proc() *Proc {
	p := &Proc{OID: f.OID, Name: f.Name}
	for _, t := range f.ParamTypes() {
		p.Args = append(p.Args, t.Base().OID())
	}
	return p
}

// Oper is an operator: a row of pg_operator by what names it. Left is 0 for one before
// its only operand.
type Oper struct {
	OID         uint32
	Name        string
	Left, Right uint32 // types of the operands
}

var operators = sync.OnceValue(func() (out []*Oper) {
	for _, f := range dataLines("operators", " ") {
		out = append(out, &Oper{uint32(atoi(f[0])), f[1], uint32(atoi(f[5])), uint32(atoi(f[6]))})
	}
	return out
})

// OpersNamed returns the operators called name.
func OpersNamed(name string) (out []*Oper) {
	for _, o := range operators() {
		if o.Name == name {
			out = append(out, o)
		}
	}
	return out
}

// OperByOID returns an operator; nil if there is none.
func OperByOID(oid uint32) *Oper {
	for _, o := range operators() {
		if o.OID == oid {
			return o
		}
	}
	return nil
}
