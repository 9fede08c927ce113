package expr

import (
	"github.com/streamdb/streamdb/expr/are"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// pathCache keeps the path that was parsed last, which most often is the only one.
type pathCache struct {
	text    string
	path    *types.JSONPathValue
	regexes map[*types.PathItem]*are.Regexp
}

func (c *pathCache) get(text []byte) error {
	if c.path != nil && c.text == string(text) {
		return nil
	}
	p, err := types.ParseJSONPath(string(text))
	if err != nil {
		return err
	}
	c.text, c.path, c.regexes = string(text), p, map[*types.PathItem]*are.Regexp{}
	return nil
}

// pathCall is one evaluation of a path by a function.
type pathCall struct {
	pathEval
	silent bool
}

// call reads the arguments target, path, vars and silent of a row.
func (c *pathCache) call(r *row, zoned bool) (*pathCall, error) {
	if err := c.get(r.b(1)); err != nil {
		return nil, err
	}
	p := &pathCall{pathEval: pathEval{path: c.path, root: jsonItem(r.b(0)), vars: []byte("{}"), size: -1, lenient: !c.path.Strict,
		zoned: zoned, zone: r.c.options(), regexes: c.regexes}}
	p.current = p.root
	if len(r.args) > 2 {
		if p.vars = r.b(2); firstByte(p.vars) != '{' {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "\"vars\" argument is not an object").
				WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
		}
	}
	p.silent = len(r.args) > 3 && r.bool(3)
	return p, nil
}

// run hands the items to yield. failed: an error that is to be silent ended it.
func (p *pathCall) run(yield pathSink) (failed bool, err error) {
	_, err = p.item(p.path.Root, p.root, !p.path.Strict, yield)
	if p.fatal != nil {
		return false, p.fatal
	}
	if err != nil && p.silent {
		return true, nil
	}
	return false, err
}

func (p *pathCall) exists(r *row) error {
	found := false
	p.probe = !p.path.Strict
	failed, err := p.run(func(pathItem) bool { found = true; return p.path.Strict })
	if err != nil {
		return err
	}
	if failed {
		return r.null()
	}
	return r.putBool(found)
}

func (p *pathCall) match(r *row) error {
	var items []pathItem
	if _, err := p.run(collectItems(&items)); err != nil {
		return err
	}
	if len(items) == 1 && items[0].kind == pathBool {
		return r.putBool(items[0].raw[0] == 't')
	}
	if len(items) == 1 && items[0].kind == pathNull || p.silent {
		return r.null()
	}
	return pathError("22038", "single boolean result is expected")
}

func (p *pathCall) array(r *row) error {
	var parts [][]byte
	if _, err := p.run(func(x pathItem) bool { parts = append(parts, x.json(nil)); return true }); err != nil {
		return err
	}
	return r.putB(types.AppendJSONBArray(nil, parts))
}

func (p *pathCall) first(r *row) error {
	var items []pathItem
	if _, err := p.run(collectItems(&items)); err != nil {
		return err
	}
	if len(items) == 0 {
		return r.null()
	}
	return r.putB(items[0].json(nil))
}

var pathParams = []string{"target", "path", "vars", "silent"}

// pathFuncs are the functions of the SQL/JSON path language.
func pathFuncs() []*Func {
	var out []*Func
	args := ts(tJSONB, types.TJSONPath, tJSONB, tBool)
	defaults := []Expr{&Const{Val: "{}", Typ: tJSONB}, &Const{Val: false, Typ: tBool}}
	for _, suffix := range []string{"", "_tz"} {
		zoned := suffix != ""
		add := func(f *Func) {
			f.Optional, f.Params, f.Defaults, f.MayFail = 2, pathParams, defaults, true
			if zoned {
				f.Volatility = Stable
			}
			out = append(out, f)
		}
		for _, k := range []struct {
			name string
			ret  types.T
			f    func(*pathCall, *row) error
		}{{"jsonb_path_exists", tBool, (*pathCall).exists}, {"jsonb_path_match", tBool, (*pathCall).match},
			{"jsonb_path_query_array", tJSONB, (*pathCall).array}, {"jsonb_path_query_first", tJSONB, (*pathCall).first}} {
			add(&Func{Name: k.name + suffix, Args: args, Ret: k.ret, New: func() Kernel {
				c := &pathCache{}
				return rows(func(r *row) error {
					p, err := c.call(r, zoned)
					if err != nil {
						return err
					}
					return k.f(p, r)
				})
			}})
		}
		query := set("jsonb_path_query"+suffix, args, tJSONB, func(r *row, dst vec.Vector) error {
			p, err := (&pathCache{}).call(r, zoned)
			if err != nil {
				return err
			}
			_, err = p.run(func(x pathItem) bool { dst.(*vec.Bytes).Append(x.json(nil)); return true })
			return err
		})
		add(query)
	}
	return out
}

// pathOps are @? and @@, which are silent.
func pathOps() []*Func {
	op := func(name string, f func(*pathCall, *row) error) *Func {
		return &Func{Name: name, Args: ts(tJSONB, types.TJSONPath), Ret: tBool, MayFail: true, New: func() Kernel {
			c := &pathCache{}
			return rows(func(r *row) error {
				p, err := c.call(r, false)
				if err != nil {
					return err
				}
				p.silent, p.vars = true, nil
				return f(p, r)
			})
		}}
	}
	return []*Func{op("@?", (*pathCall).exists), op("@@", (*pathCall).match)}
}
