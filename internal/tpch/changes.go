package tpch

import (
	"fmt"
	"strings"
)

// Changer makes batches of changes to the loaded tables, each of which touches
// other rows than the ones before.
type Changer struct {
	d *Data
	// next are the numbers of the next order to insert, and how many have been
	// deleted, updated, and so on for the other tables.
	inserted, touched int
	rows              [tables]int
}

// Changes starts the changes of the data as loaded.
func (d *Data) Changes() *Changer { return &Changer{d: d} }

// Batch returns statements, ended by semicolons, that change part of all rows of
// each table but region and nation (0.01 is one in a hundred): of orders and
// their items a third are inserted, a third deleted and a third updated; of the
// other tables all are updated. rows is the number of rows changed.
func (c *Changer) Batch(part float64) (sql string, rows int) {
	var b strings.Builder
	emit := func(n int, format string, args ...any) {
		rows += n
		fmt.Fprintf(&b, format+";\n", args...)
	}
	for k := range c.count(c.d.orders, part) {
		switch k % 3 {
		case 0:
			c.insertOrder(emit)
		case 1:
			o := c.nextOrder()
			emit(1, "DELETE FROM orders WHERE o_orderkey = %d", o.key)
			emit(len(o.items), "DELETE FROM lineitem WHERE l_orderkey = %d", o.key)
		case 2:
			c.updateOrder(emit)
		}
	}
	for _, t := range []int{Supplier, Part, PartSupp, Customer} {
		n := [tables]int{Supplier: c.d.suppliers, Part: c.d.parts, PartSupp: 4 * c.d.parts, Customer: c.d.customers}[t]
		for range c.count(n, part) {
			c.update(t, n, emit)
		}
	}
	return b.String(), rows
}

// count is part of n rows, but at least one.
func (c *Changer) count(n int, part float64) int { return max(int(float64(n)*part+0.5), 1) }

// stride leads through the loaded rows of a table out of order.
func stride(i, n int) int { return int(uint64(i) * 7919 % uint64(n)) }

func (c *Changer) insertOrder(emit func(int, string, ...any)) {
	o := c.d.order(c.d.orders + c.inserted)
	c.inserted++
	emit(1, "INSERT INTO orders VALUES %s", values(o.copyLine(nil)))
	var rows []string
	for i := range o.items {
		rows = append(rows, values(o.items[i].copyLine(nil)))
	}
	emit(len(rows), "INSERT INTO lineitem VALUES %s", strings.Join(rows, ", "))
}

// nextOrder is a loaded order that no change has touched.
func (c *Changer) nextOrder() *order {
	o := c.d.order(stride(c.touched, c.d.orders))
	c.touched++
	return o
}

func (c *Changer) updateOrder(emit func(int, string, ...any)) {
	o := c.nextOrder()
	r := newStream(c.d.seed+1, Orders, c.touched)
	emit(1, "UPDATE orders SET o_orderpriority = '%s', o_totalprice = o_totalprice + %s, o_comment = '%s' WHERE o_orderkey = %d",
		r.pick(priorities), money(r.between(1, 9999)), r.comment(nil, 19, 78), o.key)
	for i := range o.items {
		it := c.d.item(r, o, o.items[i].line)
		emit(1, "UPDATE lineitem SET l_quantity = %d, l_extendedprice = %s, l_discount = 0.%02d, l_returnflag = '%s', l_linestatus = '%s', l_shipdate = '%s', "+
			"l_commitdate = '%s', l_receiptdate = '%s', l_shipmode = '%s' WHERE l_orderkey = %d AND l_linenumber = %d",
			it.quantity, money(it.price), it.discount, it.returned, it.status, day(it.ship), day(it.commit), day(it.receipt), it.carrier, o.key, it.line)
	}
}

func (c *Changer) update(t, n int, emit func(int, string, ...any)) {
	i := stride(c.rows[t], n)
	c.rows[t]++
	r := newStream(c.d.seed+1, t, c.rows[t])
	switch t {
	case Supplier:
		emit(1, "UPDATE supplier SET s_acctbal = %s, s_nationkey = %d WHERE s_suppkey = %d", money(r.between(-99999, 999999)), r.between(0, len(nations)-1), i+1)
	case Part:
		emit(1, "UPDATE part SET p_size = %d, p_container = '%s %s' WHERE p_partkey = %d", r.between(1, 50), r.pick(boxSize), r.pick(boxKind), i+1)
	case PartSupp:
		emit(1, "UPDATE partsupp SET ps_availqty = %d, ps_supplycost = %s WHERE ps_partkey = %d AND ps_suppkey = %d",
			r.between(1, 9999), money(r.between(100, 100000)), i/4+1, c.d.supplierOf(i/4+1, i%4))
	case Customer:
		emit(1, "UPDATE customer SET c_acctbal = %s, c_mktsegment = '%s' WHERE c_custkey = %d", money(r.between(-99999, 999999)), r.pick(segments), i+1)
	}
}
