package main

// nexmarkQueries are the Nexmark queries that need no windows, over the sources
// person, auction and bid.
var nexmarkQueries = map[string]string{
	"q0": `SELECT auction, bidder, price, date_time, extra FROM bid`,
	"q1": `SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid`,
	"q2": `SELECT auction, price FROM bid WHERE auction % 123 = 0`,
	"q3": `SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
		WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')`,
	"q4": `SELECT category, avg(final) AS avg FROM (
		SELECT max(b.price) AS final, a.category FROM auction a JOIN bid b ON a.id = b.auction
		WHERE b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.category) q GROUP BY category`,
	"q9": `SELECT id, item_name, description, initial_bid, reserve, a_time, expires, seller, category, auction, bidder, price, b_time FROM (
		SELECT a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.date_time AS a_time, a.expires, a.seller, a.category,
			b.auction, b.bidder, b.price, b.date_time AS b_time,
			row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time ASC) AS n
		FROM auction a JOIN bid b ON a.id = b.auction WHERE b.date_time BETWEEN a.date_time AND a.expires) q WHERE n <= 1`,
	"q14": `SELECT auction, bidder, 0.908 * price AS price,
		CASE WHEN extract(hour FROM date_time) >= 8 AND extract(hour FROM date_time) <= 18 THEN 'dayTime'
			WHEN extract(hour FROM date_time) <= 6 OR extract(hour FROM date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bid_time,
		date_time, length(extra) - length(replace(extra, 'c', '')) AS c_counts
		FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000`,
	"q17": `SELECT auction, to_char(date_time, 'YYYY-MM-DD') AS day, count(*) AS total_bids,
		count(*) FILTER (WHERE price < 10000) AS rank1_bids, count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
		count(*) FILTER (WHERE price >= 1000000) AS rank3_bids, min(price) AS min_price, max(price) AS max_price,
		avg(price) AS avg_price, sum(price) AS sum_price FROM bid GROUP BY auction, to_char(date_time, 'YYYY-MM-DD')`,
	"q18": `SELECT auction, bidder, price, channel, url, date_time, extra FROM (
		SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS n FROM bid) q WHERE n <= 1`,
	"q20": `SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time AS b_time, b.extra AS b_extra,
		a.item_name, a.description, a.initial_bid, a.reserve, a.date_time AS a_time, a.expires, a.seller, a.category, a.extra AS a_extra
		FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10`,
	"q21": `SELECT auction, bidder, price, channel,
		CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
			WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3'
			ELSE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] END AS channel_id
		FROM bid WHERE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')`,
	"q22": `SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3 FROM bid`,
}

// nexmarkOrder is the order of "all".
var nexmarkOrder = []string{"q0", "q1", "q2", "q3", "q4", "q9", "q14", "q17", "q18", "q20", "q21", "q22"}
