CREATE TABLE t (a int, b numeric, name text, flag boolean, d date, ts timestamp, j json);
CREATE TABLE u (a int, c text, k int);
CREATE TABLE k (id int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 1.5, 'x', true, '2024-01-01', '2024-01-01 12:00', '{}'), (2, 2.5, 'y', false, '2024-01-02', '2024-01-02 12:00', '[]');
INSERT INTO u VALUES (1, 'p', 1), (3, 'q', 2);
INSERT INTO k VALUES (100, 'v');
