package tpch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Data describes one database: a scale factor and a seed.
type Data struct {
	suppliers, parts, customers, orders int
	seed                                uint64
	scale                               float64
}

// New returns the data of scale factor sf: about 8.7 million rows and 1 GB of text
// for 1. Below 0.001 the tables would be too small for the queries to find
// anything, so that it is the least.
func New(sf float64, seed uint64) *Data {
	sf = max(sf, 0.001)
	n := func(base int) int { return max(int(float64(base)*sf), 1) }
	return &Data{suppliers: n(10000), parts: n(200000), customers: n(150000), orders: 10 * n(150000), seed: seed, scale: sf}
}

// Scale is the scale factor, which one query has as a parameter.
func (d *Data) Scale() float64 { return d.scale }

// Write writes a table in the text format of COPY.
func (d *Data) Write(table int, w io.Writer) error {
	n := [tables]int{len(regions), len(nations), d.suppliers, d.parts, d.parts, d.customers, d.orders, d.orders}[table]
	var buf []byte
	for i := range n {
		if buf = d.rows(buf, table, i); len(buf) > 1<<16 || i == n-1 {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}

// rows appends the lines that belong to number i of a table: one, but four for
// the suppliers of a part and one to seven for the items of an order.
func (d *Data) rows(dst []byte, table, i int) []byte {
	r := newStream(d.seed, table, i)
	switch table {
	case Region:
		return append(r.comment(fmt.Appendf(dst, "%d\t%s\t", i, regions[i]), 31, 115), '\n')
	case Nation:
		return append(r.comment(fmt.Appendf(dst, "%d\t%s\t%d\t", i, nations[i].name, nations[i].region), 31, 114), '\n')
	case Supplier:
		return d.supplier(dst, r, i)
	case Part:
		return d.part(dst, r, i)
	case PartSupp:
		for k := range 4 {
			dst = fmt.Appendf(dst, "%d\t%d\t%d\t%s\t", i+1, d.supplierOf(i+1, k), r.between(1, 9999), money(r.between(100, 100000)))
			dst = append(r.comment(dst, 49, 198), '\n')
		}
		return dst
	case Customer:
		nation := r.between(0, len(nations)-1)
		dst = r.address(fmt.Appendf(dst, "%d\tCustomer#%09d\t", i+1, i+1), 10, 40)
		dst = fmt.Appendf(dst, "\t%d\t%s\t%s\t%s\t", nation, r.phone(nation), money(r.between(-99999, 999999)), r.pick(segments))
		return append(r.comment(dst, 29, 116), '\n')
	case Orders:
		return d.order(i).copyLine(dst)
	}
	o := d.order(i)
	for k := range o.items {
		dst = o.items[k].copyLine(dst)
	}
	return dst
}

func (d *Data) supplier(dst []byte, r *stream, i int) []byte {
	nation := r.between(0, len(nations)-1)
	dst = r.address(fmt.Appendf(dst, "%d\tSupplier#%09d\t", i+1, i+1), 10, 40)
	dst = fmt.Appendf(dst, "\t%d\t%s\t%s\t", nation, r.phone(nation), money(r.between(-99999, 999999)))
	start := len(dst)
	dst = r.comment(dst, 40, 100)
	// Of 2,000 suppliers one has been complained about and one recommended.
	switch i % 2000 {
	case 385:
		copy(dst[start:], "Customer slow Complaints")
	case 1261:
		copy(dst[start:], "Customer kind Recommends")
	}
	return append(dst, '\n')
}

func (d *Data) part(dst []byte, r *stream, i int) []byte {
	dst = fmt.Appendf(dst, "%d\t", i+1)
	var used [5]int
	for k := range used {
	again:
		used[k] = r.between(0, len(colors)-1)
		for _, u := range used[:k] {
			if u == used[k] {
				goto again
			}
		}
		if k > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, colors[used[k]]...)
	}
	m := r.between(1, 5)
	dst = fmt.Appendf(dst, "\tManufacturer#%d\tBrand#%d%d\t%s %s %s\t%d\t%s %s\t%s\t", m, m, r.between(1, 5),
		r.pick(typeSize), r.pick(typeFinish), r.pick(typeMetal), r.between(1, 50), r.pick(boxSize), r.pick(boxKind), money(retailPrice(i+1)))
	return append(r.comment(dst, 5, 22), '\n')
}

// supplierOf is the k-th of the four suppliers of a part. With less than a
// hundred suppliers the specification's formula would name one twice.
func (d *Data) supplierOf(part, k int) int {
	s, step := d.suppliers, d.suppliers/4
	if s >= 100 {
		step += (part - 1) / s
	}
	return (part+k*step)%s + 1
}

// retailPrice is in cents.
func retailPrice(part int) int { return 90000 + part/10%20001 + 100*(part%1000) }

func (r *stream) phone(nation int) string {
	return fmt.Sprintf("%d-%d-%d-%d", nation+10, r.between(100, 999), r.between(100, 999), r.between(1000, 9999))
}

// money writes cents.
func money(cents int) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// Days are counted from 1992-01-01, the first date of the data.
var (
	firstDay = time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC)
	today    = int(time.Date(1995, 6, 17, 0, 0, 0, 0, time.UTC).Sub(firstDay).Hours() / 24)
	lastDay  = int(time.Date(1998, 12, 31, 0, 0, 0, 0, time.UTC).Sub(firstDay).Hours() / 24)
)

func day(n int) string { return firstDay.AddDate(0, 0, n).Format(time.DateOnly) }

// order is an order with its items, before it is written.
type order struct {
	key, cust, total, date  int
	status                  byte
	priority, clerk, remark string
	items                   []item
}

// item is a line of an order; money in cents, discount and tax in percent.
type item struct {
	order, part, supp, line             int
	quantity, price, discount, tax      int
	ship, commit, receipt               int
	returned, status, instruct, carrier string
	remark                              string
}

// orderKey makes keys sparse: eight of every 32 numbers are used.
func orderKey(i int) int { return i/8*32 + i%8 + 1 }

// order makes order number i; numbers beyond the loaded ones are new orders.
func (d *Data) order(i int) *order {
	r := newStream(d.seed, Orders, i)
	o := &order{key: orderKey(i), date: r.between(0, lastDay-151), priority: r.pick(priorities)}
	for o.cust%3 == 0 { // every third customer never orders
		o.cust = r.between(1, max(d.customers, 2))
	}
	o.clerk = fmt.Sprintf("Clerk#%09d", r.between(1, max(int(1000*d.scale), 1)))
	o.remark = string(r.comment(nil, 19, 78))
	open := 0
	for n := range r.between(1, 7) {
		it := d.item(r, o, n+1)
		if it.status == "O" {
			open++
		}
		o.total += it.price * (100 + it.tax) * (100 - it.discount) / 10000
		o.items = append(o.items, it)
	}
	switch open {
	case 0:
		o.status = 'F'
	case len(o.items):
		o.status = 'O'
	default:
		o.status = 'P'
	}
	return o
}

func (d *Data) item(r *stream, o *order, line int) item {
	it := item{order: o.key, line: line, part: r.between(1, d.parts), quantity: r.between(1, 50), discount: r.between(0, 10), tax: r.between(0, 8)}
	it.supp = d.supplierOf(it.part, r.between(0, 3))
	it.price = it.quantity * retailPrice(it.part)
	it.ship = o.date + r.between(1, 121)
	it.commit = o.date + r.between(30, 90)
	it.receipt = it.ship + r.between(1, 30)
	it.returned, it.status = "N", "F"
	if it.receipt <= today {
		it.returned = []string{"A", "R"}[r.between(0, 1)]
	}
	if it.ship > today {
		it.status = "O"
	}
	it.instruct, it.carrier = r.pick(instructs), r.pick(modes)
	it.remark = string(r.comment(nil, 10, 43))
	return it
}

func (o *order) copyLine(dst []byte) []byte {
	return fmt.Appendf(dst, "%d\t%d\t%c\t%s\t%s\t%s\t%s\t0\t%s\n", o.key, o.cust, o.status, money(o.total), day(o.date), o.priority, o.clerk, o.remark)
}

func (it *item) copyLine(dst []byte) []byte {
	return fmt.Appendf(dst, "%d\t%d\t%d\t%d\t%d\t%s\t0.%02d\t0.%02d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", it.order, it.part, it.supp, it.line,
		it.quantity, money(it.price), it.discount, it.tax, it.returned, it.status, day(it.ship), day(it.commit), day(it.receipt),
		it.instruct, it.carrier, it.remark)
}

// values turns a line of COPY's format into a list of SQL literals; no text of
// this package has quotes or backslashes.
func values(line []byte) string {
	var b bytes.Buffer
	b.WriteByte('(')
	for i, f := range bytes.Split(bytes.TrimSuffix(line, []byte("\n")), []byte("\t")) {
		if i > 0 {
			b.WriteString(", ")
		}
		if _, err := strconv.ParseFloat(string(f), 64); err == nil {
			b.Write(f)
			continue
		}
		b.WriteByte('\'')
		b.Write(f)
		b.WriteByte('\'')
	}
	b.WriteByte(')')
	return b.String()
}
