package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Privs is a set of privileges; the upper half says which of them may be given on.
type Privs uint32

// The privileges, with PostgreSQL's numbers.
const (
	Insert Privs = 1 << iota
	Select
	Update
	Delete
	Truncate
	References
	Trigger
	Execute
	Usage
	Create
	Temp
	Connect
)

const grantShift = 16

// Options are the privileges as rights to give them on.
func (p Privs) Options() Privs { return p << grantShift }

// Grantable are the privileges that may be given on.
func (p Privs) Grantable() Privs { return p >> grantShift }

// Plain leaves the rights to give on out.
func (p Privs) Plain() Privs { return p & (1<<grantShift - 1) }

// privLetters and privNames are in the order of the bits; aclOrder is that in which
// access lists show them.
const (
	privLetters = "arwdDxtXUCTc"
	aclOrder    = "arwdDxtXUCTc"
)

var privNames = [...]string{"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "EXECUTE", "USAGE", "CREATE", "TEMPORARY", "CONNECT"}

// PrivNamed finds a privilege by its name in any case.
func PrivNamed(name string) (Privs, bool) {
	name = strings.ToUpper(name)
	if name == "TEMP" {
		return Temp, true
	}
	i := slices.Index(privNames[:], name)
	if i < 0 {
		return 0, false
	}
	return 1 << i, true
}

// String returns the name of a single privilege.
func (p Privs) String() string {
	for i, n := range privNames {
		if p.Plain() == 1<<i {
			return n
		}
	}
	return ""
}

// each calls f for each single privilege of the set, in order.
func (p Privs) each(f func(Privs)) {
	for i := range privNames {
		if p&(1<<i) != 0 {
			f(1 << i)
		}
	}
}

// ACLItem is what one role has been given by another one.
type ACLItem struct {
	Grantee uint32 `json:"to"` // PublicGrantee: everybody
	Grantor uint32 `json:"by"`
	Privs   Privs  `json:"privs"`
}

// ACL is an access list. It is never changed in place.
type ACL []ACLItem

// GrantKind is what privileges are granted on: the letters of acldefault, and for
// secrets one of our own.
type GrantKind byte

// The kinds of objects that have access lists.
const (
	GrantRelation GrantKind = 'r'
	GrantSequence GrantKind = 's'
	GrantDatabase GrantKind = 'd'
	GrantFunction GrantKind = 'f'
	GrantSchema   GrantKind = 'n'
	GrantType     GrantKind = 'T'
	GrantSecret   GrantKind = 'k'
)

// All are the privileges that there are for objects of a kind.
func (k GrantKind) All() Privs {
	switch k {
	case GrantRelation:
		return Insert | Select | Update | Delete | Truncate | References | Trigger
	case GrantSequence:
		return Usage | Select | Update
	case GrantDatabase:
		return Create | Temp | Connect
	case GrantFunction:
		return Execute
	case GrantSchema:
		return Usage | Create
	case GrantType, GrantSecret:
		return Usage
	}
	return 0
}

// String is the kind as the errors of GRANT name it.
func (k GrantKind) String() string {
	return map[GrantKind]string{GrantRelation: "relation", GrantSequence: "sequence", GrantDatabase: "database", GrantFunction: "function",
		GrantSchema: "schema", GrantType: "type", GrantSecret: "secret"}[k]
}

// GrantKindOf is the kind of an object; 0: it has no access list of its own.
func GrantKindOf(o Object) GrantKind {
	switch o.Kind() {
	case KindTable, KindView, KindMatView, KindSource, KindSink, KindVirtual:
		return GrantRelation
	case KindSequence:
		return GrantSequence
	case KindDatabase:
		return GrantDatabase
	case KindFunction:
		return GrantFunction
	case KindSchema:
		return GrantSchema
	case KindType:
		return GrantType
	case KindSecret:
		return GrantSecret
	}
	return 0
}

// DefaultFor is the access list of an object that has none.
func DefaultFor(k GrantKind, owner uint32) ACL {
	var world Privs
	switch k {
	case GrantDatabase:
		world = Temp | Connect
	case GrantFunction:
		world = Execute
	case GrantType:
		world = Usage
	}
	var out ACL
	if world != 0 {
		out = append(out, ACLItem{PublicGrantee, owner, world})
	}
	return append(out, ACLItem{owner, owner, k.All()})
}

// Effective is the access list that counts for an object.
func Effective(o Object) ACL {
	h := o.Header()
	if h.ACL != nil {
		return *h.ACL
	}
	return DefaultFor(GrantKindOf(o), h.Owner)
}

// text is the item as aclitem shows it.
func (i ACLItem) text(s *Snapshot) string {
	var b strings.Builder
	if i.Grantee != PublicGrantee {
		b.WriteString(aclName(s, i.Grantee))
	}
	b.WriteByte('=')
	for _, c := range aclOrder {
		bit := Privs(1) << strings.IndexRune(privLetters, c)
		if i.Privs&bit != 0 {
			b.WriteRune(c)
			if i.Privs&bit.Options() != 0 {
				b.WriteByte('*')
			}
		}
	}
	b.WriteByte('/')
	b.WriteString(aclName(s, i.Grantor))
	return b.String()
}

// aclName is a role's name in an aclitem, in quotes where it has other characters
// than letters, digits and underscores.
func aclName(s *Snapshot, oid uint32) string {
	r := s.RoleByOID(oid)
	if r == nil {
		return itoa(oid)
	}
	plain := strings.IndexFunc(r.Name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80
	}) < 0
	if plain {
		return r.Name
	}
	return `"` + strings.ReplaceAll(r.Name, `"`, `""`) + `"`
}

// Texts are the items of an access list as aclitem shows them.
func (a ACL) Texts(s *Snapshot) []string {
	out := make([]string, len(a))
	for i, x := range a {
		out[i] = x.text(s)
	}
	return out
}

// ParseACLItem reads the text of an aclitem.
func (s *Snapshot) ParseACLItem(text string) (ACLItem, error) {
	var out ACLItem
	bad := pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type aclitem: \"%s\"", text)
	name, rest, err := aclPrefix(text)
	if err != nil || !strings.HasPrefix(rest, "=") {
		return out, bad
	}
	if name != "" {
		r := s.Role(name)
		if r == nil {
			return out, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
		}
		out.Grantee = r.OID
	}
	rest = rest[1:]
	var last Privs
	for rest != "" && rest[0] != '/' {
		if rest[0] == '*' {
			out.Privs |= last.Options()
		} else {
			k := strings.IndexByte(privLetters, rest[0])
			if k < 0 {
				return out, pgerr.New(pgerr.InvalidTextRepresentation, "invalid mode character: must be one of \"%s\"", "arwdDxtXUCTcsA")
			}
			last = 1 << k
			out.Privs |= last
		}
		rest = rest[1:]
	}
	out.Grantor = BootstrapOID
	if rest != "" {
		if name, rest, err = aclPrefix(rest[1:]); err != nil || rest != "" {
			return out, bad
		}
		r := s.Role(name)
		if r == nil {
			return out, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
		}
		out.Grantor = r.OID
	}
	return out, nil
}

// aclPrefix reads a role's name, quoted or not.
func aclPrefix(text string) (name, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		i := strings.IndexAny(text, "=/")
		if i < 0 {
			i = len(text)
		}
		return text[:i], text[i:], nil
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(text[1:i], `""`, `"`), text[i+1:], nil
	}
	return "", "", pgerr.New(pgerr.InvalidTextRepresentation, "unterminated name")
}

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// Explode calls f for each privilege of the list, as aclexplode does.
func (a ACL) Explode(f func(grantor, grantee uint32, priv Privs, grantable bool)) {
	for _, i := range a {
		i.Privs.Plain().each(func(p Privs) { f(i.Grantor, i.Grantee, p, i.Privs&p.Options() != 0) })
	}
}

// index finds the item of a grantee and grantor, or -1.
func (a ACL) index(grantee, grantor uint32) int {
	return slices.IndexFunc(a, func(i ACLItem) bool { return i.Grantee == grantee && i.Grantor == grantor })
}

// optionsOf are the privileges that a role itself may give on.
func (a ACL) optionsOf(role, owner uint32, all Privs) Privs {
	if role == owner {
		return all
	}
	var out Privs
	for _, i := range a {
		if i.Grantee == role {
			out |= i.Privs.Grantable()
		}
	}
	return out
}

// Grant returns the list with privileges given to a role, or taken from it. Privs
// has the rights to give on in its upper half; a revoke of those alone leaves the
// privileges. Taking away what the grantee has given on needs cascade.
func (a ACL) Grant(revoke, cascade bool, i ACLItem, owner uint32) (ACL, error) {
	if !revoke && i.Grantee != PublicGrantee && i.Privs.Grantable() != 0 && i.Grantor != owner {
		if err := a.circular(i, owner); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(a)
	k := out.index(i.Grantee, i.Grantor)
	if k < 0 {
		if revoke {
			return out, nil
		}
		return append(out, i), nil
	}
	old := out[k].Privs
	if !revoke {
		out[k].Privs |= i.Privs
		return out, nil
	}
	out[k].Privs &^= i.Privs | i.Privs.Plain().Options()
	lost := old.Grantable() &^ out[k].Privs.Grantable()
	if out[k].Privs == 0 {
		out = slices.Delete(out, k, k+1)
	}
	if lost != 0 && i.Grantee != owner {
		return out.revokeDependent(i.Grantee, lost, owner, cascade)
	}
	return out, nil
}

// revokeDependent takes away what a role has given on without the right to.
func (a ACL) revokeDependent(grantor uint32, lost Privs, owner uint32, cascade bool) (ACL, error) {
	still := a.optionsOf(grantor, owner, 0)
	if lost &^= still; lost == 0 {
		return a, nil
	}
	for {
		k := slices.IndexFunc(a, func(i ACLItem) bool { return i.Grantor == grantor && i.Privs&lost != 0 })
		if k < 0 {
			return a, nil
		}
		if !cascade {
			return nil, pgerr.New(pgerr.DependentPrivileges, "dependent privileges exist").WithHint("Use CASCADE to revoke them too.")
		}
		var err error
		if a, err = a.Grant(true, true, ACLItem{a[k].Grantee, grantor, a[k].Privs & lost}, owner); err != nil {
			return nil, err
		}
	}
}

// circular refuses to give options back to who has given them.
func (a ACL) circular(i ACLItem, owner uint32) error {
	rest := slices.Clone(a)
	// Without what the grantee gave on, may the grantor still give?
	for {
		k := slices.IndexFunc(rest, func(x ACLItem) bool { return x.Grantee == i.Grantee && x.Privs.Grantable() != 0 })
		if k < 0 {
			break
		}
		var err error
		if rest, err = rest.Grant(true, true, ACLItem{i.Grantee, rest[k].Grantor, rest[k].Privs}, owner); err != nil {
			return err
		}
	}
	if i.Privs.Grantable()&^rest.optionsOf(i.Grantor, owner, ^Privs(0)) != 0 {
		return pgerr.New(pgerr.InvalidGrantOperation, "grant options cannot be granted back to your own grantor")
	}
	return nil
}

// without returns the list without anything about a role.
func (a ACL) without(role uint32) ACL {
	return slices.DeleteFunc(slices.Clone(a), func(i ACLItem) bool { return i.Grantee == role || i.Grantor == role })
}

// mentions reports whether the list names a role.
func (a ACL) mentions(role uint32) bool {
	return slices.ContainsFunc(a, func(i ACLItem) bool { return i.Grantee == role || i.Grantor == role })
}

// NewOwner returns the list after the object has got another owner: what the old
// one had and gave is the new one's.
func (a ACL) NewOwner(old, new uint32) ACL {
	var out ACL
	for _, i := range a {
		if i.Grantee == old {
			i.Grantee = new
		}
		if i.Grantor == old {
			i.Grantor = new
		}
		if k := out.index(i.Grantee, i.Grantor); k >= 0 {
			out[k].Privs |= i.Privs
		} else {
			out = append(out, i)
		}
	}
	return out
}

// RevokeOptions returns the list without rights of a role to give privileges on.
func (a ACL) RevokeOptions(cascade bool, i ACLItem, owner uint32) (ACL, error) {
	k := a.index(i.Grantee, i.Grantor)
	if k < 0 {
		return a, nil
	}
	out := slices.Clone(a)
	lost := out[k].Privs.Grantable() & i.Privs.Grantable()
	out[k].Privs &^= lost.Options()
	if lost == 0 || i.Grantee == owner {
		return out, nil
	}
	return out.revokeDependent(i.Grantee, lost, owner, cascade)
}
