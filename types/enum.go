package types

import "github.com/streamdb/streamdb/pgerr"

// EnumOf returns the enum type with a reference.
func EnumOf(ref uint64) T { return T{ID: Enum, Mod: -1, Ref: ref} }

// Labels returns the values of an enum in its order.
func (t T) Labels() []Label {
	if d := t.Underlying().Def(); d != nil {
		return d.Labels
	}
	return nil
}

// ParseEnum returns the code of a label: 22P02 if there is none of that name.
func ParseEnum(t T, s string) (int64, error) {
	for _, l := range t.Labels() {
		if l.Name == s {
			return l.Code, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", t.Base(), s)
}

// EnumLabel returns the label of a code.
func EnumLabel(t T, code int64) string {
	ls := t.Labels()
	lo, hi := 0, len(ls)
	for lo < hi {
		if m := (lo + hi) / 2; ls[m].Code < code {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(ls) && ls[lo].Code == code {
		return ls[lo].Name
	}
	return ""
}

// EnumStep lies between the codes of labels given together.
const EnumStep = 1 << 32

// EnumCodeBetween returns a code for a new label between two neighbours, nil
// standing for an end; ok is false when their codes leave no room.
func EnumCodeBetween(before, after *Label) (code int64, ok bool) {
	switch {
	case before == nil && after == nil:
		return EnumStep, true
	case after == nil:
		return before.Code + EnumStep, true
	case before == nil:
		return after.Code - EnumStep, true
	}
	c := before.Code + (after.Code-before.Code)/2
	return c, c != before.Code
}
