package engine

import (
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// What CREATE DATABASE says of how text is stored and sorted: it is UTF-8 and sorts
// by its bytes in every database, so that anything else is refused.

// databaseForm checks the options about encoding, locale, place and strategy, and
// puts the names of the locale into d. What is not given is as in the template.
func databaseForm(text string, d, from *catalog.Database, given map[string]*sql.Option) error {
	free := from.Name == "template0"
	if o := given["strategy"]; o != nil && !strings.EqualFold(o.Value, "wal_log") && !strings.EqualFold(o.Value, "file_copy") {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid create database strategy \"%s\"", o.Value).
			WithHint("Valid strategies are \"wal_log\" and \"file_copy\".")
	}
	if o := given["locale_provider"]; o != nil && !strings.EqualFold(o.Value, "libc") {
		if strings.EqualFold(o.Value, "icu") {
			return pgerr.Unsupported("a locale of ICU", "Text sorts by its bytes: use libc with C, POSIX or C.UTF-8.")
		}
		return pgerr.New(pgerr.InvalidObjectDefinition, "unrecognized locale provider: %s", o.Value)
	}
	if given["icu_locale"] != nil {
		return pgerr.New(pgerr.InvalidObjectDefinition, "ICU locale cannot be specified unless locale provider is ICU")
	}
	collate, ctype := from.Locale()
	for _, n := range []string{"lc_collate", "lc_ctype"} {
		if given[n] == nil {
			given[n] = given["locale"]
		}
	}
	if o := given["encoding"]; o != nil {
		if err := encodingUTF8(o.Value, optionText(given["lc_ctype"], ctype), free); err != nil {
			if pgerr.CodeOf(err) == pgerr.UndefinedObject {
				return pgerr.From(err).At(sql.PosToChar(text, int(o.Pos)))
			}
			return err
		}
	}
	for _, l := range []struct{ option, is, what string }{{"lc_collate", collate, "collation"}, {"lc_ctype", ctype, "LC_CTYPE"}} {
		o := given[l.option]
		if o == nil || o.Value == l.is {
			continue
		}
		if !bytesLocale(o.Value) {
			return pgerr.Unsupported("the locale \""+o.Value+"\"", "Text sorts by its bytes in every database: use C, POSIX or C.UTF-8.")
		}
		if !free {
			of := "of the template database"
			return pgerr.New(pgerr.InvalidParameterValue, "new %s (%s) is incompatible with the %s %s (%s)", l.what, o.Value, l.what, of, l.is).
				WithHint("Use the same %s as in the template database, or use template0 as template.", l.what)
		}
	}
	d.Collate, d.CType = optionText(given["lc_collate"], collate), optionText(given["lc_ctype"], ctype)
	if o := given["tablespace"]; o != nil {
		if err := defaultTablespace(o.Value); err != nil {
			return err
		}
	}
	for _, n := range []string{"oid", "collation_version"} {
		if given[n] != nil {
			return pgerr.Unsupported("the option "+strings.ToUpper(n)+" of CREATE DATABASE", "It is for upgrades of a server in place. Leave it out.")
		}
	}
	return nil
}

// bytesLocale reports whether text of a locale sorts by its bytes.
func bytesLocale(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "-", "")) {
	case "c", "posix", "c.utf8":
		return true
	}
	return false
}

// encodingUTF8 refuses every encoding but UTF-8, by name or number. free: it need not
// be the template's.
func encodingUTF8(name, ctype string, free bool) error {
	set := charset.Find(name)
	n, err := strconv.Atoi(name)
	if err == nil {
		set = charset.ByID(int32(n))
	}
	switch {
	case set == charset.UTF8:
		return nil
	case err == nil && (set == nil || set.ClientOnly):
		return pgerr.New(pgerr.UndefinedObject, "%d is not a valid encoding code", n)
	}
	switch {
	case set == nil || set.ClientOnly:
		return pgerr.New(pgerr.UndefinedObject, "%s is not a valid encoding name", name)
	case strings.EqualFold(strings.ReplaceAll(ctype, "-", ""), "c.utf8") && set != charset.SQLASCII:
		return pgerr.New(pgerr.InvalidParameterValue, "encoding \"%s\" does not match locale \"%s\"", set.Name, ctype).
			WithDetail("The chosen LC_CTYPE setting requires encoding \"UTF8\".")
	case !free:
		return pgerr.New(pgerr.InvalidParameterValue, "new encoding (%s) is incompatible with the encoding of the template database (UTF8)", set.Name).
			WithHint("Use the same encoding as in the template database, or use template0 as template.")
	}
	return pgerr.Unsupported("the encoding "+set.Name, "Text is UTF-8 in every database. A client may have another encoding.")
}

// defaultTablespace refuses every tablespace but the one there is.
func defaultTablespace(name string) error {
	switch name {
	case "pg_default":
		return nil
	case "pg_global":
		return pgerr.New(pgerr.InvalidParameterValue, "pg_global cannot be used as default tablespace")
	}
	return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", name)
}
