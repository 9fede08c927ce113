package expr

import "sync"

// registry is what the function tables of all families add up to.
type registry struct {
	funcs map[string][]*Func
	ops   map[string][]*Func
	aggs  map[string][]*AggFunc
}

// tables builds the registry at its first use; it is immutable afterwards.
var tables = sync.OnceValue(func() *registry {
	r := &registry{funcs: map[string][]*Func{}, ops: map[string][]*Func{}, aggs: map[string][]*AggFunc{}}
	for _, family := range [][]*Func{compareOps(), arithmeticOps(), concatOps(), mathOps(), patternOps(), timeOps(), jsonOps(), arrayOps(), recordOps(), rangeOps(), pathOps(), inetOps(), macaddrOps(), bitOps(), timetzOps(), moneyOps(), recordImageOps(), patternOrderOps(), wordOps()} {
		for _, f := range family {
			r.ops[f.Name] = append(r.ops[f.Name], f)
		}
	}
	for _, family := range [][]*Func{stringFuncs(), numericMath(), regexFuncs(), timeFuncs(), jsonFuncs(), arrayFuncs(), setFuncs(), jsonRecordFuncs(), systemFuncs(), enumFuncs(), rangeFuncs(), operatorFuncs(r.ops), supportFuncs(r.ops), sendFuncs(), pathFuncs(), inetFuncs(), macaddrFuncs(), bitFuncs(), timetzFuncs(), moneyFuncs(), hashFuncs(), wordFuncs()} {
		for _, f := range family {
			r.funcs[f.Name] = append(r.funcs[f.Name], f)
		}
	}
	addOtherNames(r.funcs)
	nameParams(r.funcs)
	for _, name := range stableByDeclaration {
		for _, f := range r.funcs[name] {
			f.Volatility = max(f.Volatility, Stable)
		}
	}
	for _, family := range [][]*AggFunc{basicAggs(), collectAggs(), orderedSetAggs(), varianceAggs(), regressionAggs(), rangeAggs(), bitStringAggs()} {
		for _, f := range family {
			r.aggs[f.Name] = append(r.aggs[f.Name], f)
		}
	}
	return r
})

// stableByDeclaration are functions that PostgreSQL declares stable, for the sake of
// locales and encodings: what is made of them is no constant.
var stableByDeclaration = []string{"format", "to_char", "to_date", "to_number", "convert", "convert_from", "convert_to", "quote_literal", "quote_nullable"}

// VisitFuncs calls f for every scalar and set-returning function, in no order.
func VisitFuncs(f func(*Func)) {
	for _, fs := range tables().funcs {
		for _, x := range fs {
			f(x)
		}
	}
}

// VisitOps calls f for every operator, in no order.
func VisitOps(f func(*Func)) {
	for _, fs := range tables().ops {
		for _, x := range fs {
			f(x)
		}
	}
}

// VisitAggs calls f for every aggregate, in no order.
func VisitAggs(f func(*AggFunc)) {
	for _, fs := range tables().aggs {
		for _, x := range fs {
			f(x)
		}
	}
}
