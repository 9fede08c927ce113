package sql

import "strings"

// Hidden stands in texts where a secret was.
const Hidden = "'***'"

// Redact hides the secrets in a statement's text: the value of CREATE SECRET, the
// passwords of roles, and those of the options WITH (name = value) whose names secret tells. What cannot
// be read as SQL is cut at its first quote.
func Redact(text string, secret func(option string) bool) string {
	t, err := lex(text)
	if err != nil {
		if i := strings.IndexAny(text, "'$\""); i >= 0 {
			return text[:i] + "..."
		}
		return text
	}
	var out strings.Builder
	done := 0
	hide := func(k token) {
		out.WriteString(text[done:k.start])
		out.WriteString(Hidden)
		done = k.end
	}
	inSecret, inRole := false, false
	for i, k := range t {
		switch {
		case isOp(t, i, ";"):
			inSecret, inRole = false, false
		case (isWord(t, i, "create") || isWord(t, i, "alter")) && isOneOf(t, i+1, "role", "user", "group"):
			inRole = true
		case inRole && isWord(t, i, "password") && i+1 < len(t) && t[i+1].kind != tokOp && !isWord(t, i+1, "null"):
			hide(t[i+1])
		case isWords(t, i, "create", "secret"):
			inSecret = true
		case inSecret && isWord(t, i, "as") && i+1 < len(t) && t[i+1].kind != tokOp:
			hide(t[i+1])
		case k.kind == tokOp && k.val == "=" && i+1 < len(t) && t[i+1].kind != tokOp && !isWord(t, i+1, "secret") && secret(optionBefore(t, i)):
			hide(t[i+1])
		}
	}
	out.WriteString(text[done:])
	return out.String()
}

// optionBefore returns the name of the option whose = is token i.
func optionBefore(t []token, i int) string {
	from := i
	for from > 0 {
		k := t[from-1]
		if k.kind == tokOp && k.val != "." && k.val != "-" {
			break
		}
		from--
	}
	var b strings.Builder
	for _, k := range t[from:i] {
		b.WriteString(strings.Trim(k.val, "'"))
	}
	return b.String()
}
