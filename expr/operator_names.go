package expr

// operatorNames are the functions behind PostgreSQL's operators: the types of the
// operands, then each operator with its function.
const operatorNames = `
anyarray anyarray: = array_eq, >= array_ge, > array_gt, <= array_le, < array_lt, <> array_ne, <@ arraycontained, @> arraycontains, && arrayoverlap
anyelement anymultirange: <@ elem_contained_by_multirange
anyelement anyrange: <@ elem_contained_by_range
anyenum anyenum: = enum_eq, >= enum_ge, > enum_gt, <= enum_le, < enum_lt, <> enum_ne
anymultirange anyelement: @> multirange_contains_elem
anymultirange anymultirange: -|- multirange_adjacent_multirange, >> multirange_after_multirange, << multirange_before_multirange, <@ multirange_contained_by_multirange, @> multirange_contains_multirange, = multirange_eq, >= multirange_ge, > multirange_gt, * multirange_intersect, <= multirange_le, < multirange_lt, - multirange_minus, <> multirange_ne, && multirange_overlaps_multirange, &< multirange_overleft_multirange, &> multirange_overright_multirange, + multirange_union
anymultirange anyrange: -|- multirange_adjacent_range, >> multirange_after_range, << multirange_before_range, <@ multirange_contained_by_range, @> multirange_contains_range, && multirange_overlaps_range, &< multirange_overleft_range, &> multirange_overright_range
anynonarray text: || anytextcat
anyrange anyelement: @> range_contains_elem
anyrange anymultirange: -|- range_adjacent_multirange, >> range_after_multirange, << range_before_multirange, <@ range_contained_by_multirange, @> range_contains_multirange, && range_overlaps_multirange, &< range_overleft_multirange, &> range_overright_multirange
anyrange anyrange: -|- range_adjacent, >> range_after, << range_before, <@ range_contained_by, @> range_contains, = range_eq, >= range_ge, > range_gt, * range_intersect, <= range_le, < range_lt, - range_minus, <> range_ne, && range_overlaps, &< range_overleft, &> range_overright, + range_union
bit: ~ bitnot
bit bit: & bitand, = biteq, >= bitge, > bitgt, <= bitle, < bitlt, <> bitne, | bitor, # bitxor
bit int4: << bitshiftleft, >> bitshiftright
bool bool: = booleq, >= boolge, > boolgt, <= boolle, < boollt, <> boolne
bpchar bpchar: ~>=~ bpchar_pattern_ge, ~>~ bpchar_pattern_gt, ~<=~ bpchar_pattern_le, ~<~ bpchar_pattern_lt, = bpchareq, >= bpcharge, > bpchargt, <= bpcharle, < bpcharlt, <> bpcharne
bpchar text: ~~* bpchariclike, !~~* bpcharicnlike, ~* bpcharicregexeq, !~* bpcharicregexne, ~~ bpcharlike, !~~ bpcharnlike, ~ bpcharregexeq, !~ bpcharregexne
bytea bytea: || byteacat, = byteaeq, >= byteage, > byteagt, <= byteale, ~~ bytealike, < bytealt, <> byteane, !~~ byteanlike
char char: = chareq, >= charge, > chargt, <= charle, < charlt, <> charne
date date: = date_eq, >= date_ge, > date_gt, <= date_le, < date_lt, - date_mi, <> date_ne
date int4: - date_mii, + date_pli
date interval: - date_mi_interval, + date_pl_interval
date time: + datetime_pl
date timestamp: = date_eq_timestamp, >= date_ge_timestamp, > date_gt_timestamp, <= date_le_timestamp, < date_lt_timestamp, <> date_ne_timestamp
date timestamptz: = date_eq_timestamptz, >= date_ge_timestamptz, > date_gt_timestamptz, <= date_le_timestamptz, < date_lt_timestamptz, <> date_ne_timestamptz
date timetz: + datetimetz_pl
float4: @ float4abs, - float4um, + float4up
float4 float4: / float4div, = float4eq, >= float4ge, > float4gt, <= float4le, < float4lt, - float4mi, * float4mul, <> float4ne, + float4pl
float4 float8: / float48div, = float48eq, >= float48ge, > float48gt, <= float48le, < float48lt, - float48mi, * float48mul, <> float48ne, + float48pl
float4 money: * flt4_mul_cash
float8: ||/ dcbrt, |/ dsqrt, @ float8abs, - float8um, + float8up
float8 float4: / float84div, = float84eq, >= float84ge, > float84gt, <= float84le, < float84lt, - float84mi, * float84mul, <> float84ne, + float84pl
float8 float8: ^ dpow, / float8div, = float8eq, >= float8ge, > float8gt, <= float8le, < float8lt, - float8mi, * float8mul, <> float8ne, + float8pl
float8 interval: * mul_d_interval
float8 money: * flt8_mul_cash
inet: ~ inetnot
inet inet: & inetand, - inetmi, | inetor, = network_eq, >= network_ge, > network_gt, <= network_le, < network_lt, <> network_ne, && network_overlap, << network_sub, <<= network_subeq, >> network_sup, >>= network_supeq
inet int8: - inetmi_int8, + inetpl
int2: @ int2abs, ~ int2not, - int2um, + int2up
int2 int2: & int2and, / int2div, = int2eq, >= int2ge, > int2gt, <= int2le, < int2lt, - int2mi, % int2mod, * int2mul, <> int2ne, | int2or, + int2pl, # int2xor
int2 int4: / int24div, = int24eq, >= int24ge, > int24gt, <= int24le, < int24lt, - int24mi, * int24mul, <> int24ne, + int24pl, << int2shl, >> int2shr
int2 int8: / int28div, = int28eq, >= int28ge, > int28gt, <= int28le, < int28lt, - int28mi, * int28mul, <> int28ne, + int28pl
int2 money: * int2_mul_cash
int4: @ int4abs, ~ int4not, - int4um, + int4up
int4 date: + integer_pl_date
int4 int2: / int42div, = int42eq, >= int42ge, > int42gt, <= int42le, < int42lt, - int42mi, * int42mul, <> int42ne, + int42pl
int4 int4: & int4and, / int4div, = int4eq, >= int4ge, > int4gt, <= int4le, < int4lt, - int4mi, % int4mod, * int4mul, <> int4ne, | int4or, + int4pl, << int4shl, >> int4shr, # int4xor
int4 int8: / int48div, = int48eq, >= int48ge, > int48gt, <= int48le, < int48lt, - int48mi, * int48mul, <> int48ne, + int48pl
int4 money: * int4_mul_cash
int8: @ int8abs, ~ int8not, - int8um, + int8up
int8 inet: + int8pl_inet
int8 int2: / int82div, = int82eq, >= int82ge, > int82gt, <= int82le, < int82lt, - int82mi, * int82mul, <> int82ne, + int82pl
int8 int4: / int84div, = int84eq, >= int84ge, > int84gt, <= int84le, < int84lt, - int84mi, * int84mul, <> int84ne, + int84pl, << int8shl, >> int8shr
int8 int8: & int8and, / int8div, = int8eq, >= int8ge, > int8gt, <= int8le, < int8lt, - int8mi, % int8mod, * int8mul, <> int8ne, | int8or, + int8pl, # int8xor
int8 money: * int8_mul_cash
interval: - interval_um
interval date: + interval_pl_date
interval float8: / interval_div, * interval_mul
interval interval: = interval_eq, >= interval_ge, > interval_gt, <= interval_le, < interval_lt, - interval_mi, <> interval_ne, + interval_pl
interval time: + interval_pl_time
interval timestamp: + interval_pl_timestamp
interval timestamptz: + interval_pl_timestamptz
interval timetz: + interval_pl_timetz
json int4: -> json_array_element, ->> json_array_element_text
json text: -> json_object_field, ->> json_object_field_text
jsonb _text: #- jsonb_delete_path, ?& jsonb_exists_all, ?| jsonb_exists_any
jsonb int4: -> jsonb_array_element, ->> jsonb_array_element_text, - jsonb_delete
jsonb jsonb: || jsonb_concat, <@ jsonb_contained, @> jsonb_contains, = jsonb_eq, >= jsonb_ge, > jsonb_gt, <= jsonb_le, < jsonb_lt, <> jsonb_ne
jsonb jsonpath: @? jsonb_path_exists_opr, @@ jsonb_path_match_opr
jsonb text: - jsonb_delete, ? jsonb_exists, -> jsonb_object_field, ->> jsonb_object_field_text
macaddr: ~ macaddr_not
macaddr macaddr: & macaddr_and, = macaddr_eq, >= macaddr_ge, > macaddr_gt, <= macaddr_le, < macaddr_lt, <> macaddr_ne, | macaddr_or
macaddr8: ~ macaddr8_not
macaddr8 macaddr8: & macaddr8_and, = macaddr8_eq, >= macaddr8_ge, > macaddr8_gt, <= macaddr8_le, < macaddr8_lt, <> macaddr8_ne, | macaddr8_or
money float4: / cash_div_flt4, * cash_mul_flt4
money float8: / cash_div_flt8, * cash_mul_flt8
money int2: / cash_div_int2, * cash_mul_int2
money int4: / cash_div_int4, * cash_mul_int4
money int8: / cash_div_int8, * cash_mul_int8
money money: / cash_div_cash, = cash_eq, >= cash_ge, > cash_gt, <= cash_le, < cash_lt, - cash_mi, <> cash_ne, + cash_pl
name name: = nameeq, >= namege, > namegt, <= namele, < namelt, <> namene
name text: = nameeqtext, >= namegetext, > namegttext, ~~* nameiclike, !~~* nameicnlike, ~* nameicregexeq, !~* nameicregexne, <= nameletext, ~~ namelike, < namelttext, <> namenetext, !~~ namenlike, ~ nameregexeq, !~ nameregexne
numeric: @ numeric_abs, - numeric_uminus, + numeric_uplus
numeric numeric: + numeric_add, / numeric_div, = numeric_eq, >= numeric_ge, > numeric_gt, <= numeric_le, < numeric_lt, % numeric_mod, * numeric_mul, <> numeric_ne, ^ numeric_power, - numeric_sub
oid oid: = oideq, >= oidge, > oidgt, <= oidle, < oidlt, <> oidne
record record: = record_eq, >= record_ge, > record_gt, *= record_image_eq, *>= record_image_ge, *> record_image_gt, *<= record_image_le, *< record_image_lt, *<> record_image_ne, <= record_le, < record_lt, <> record_ne
text anynonarray: || textanycat
text name: = texteqname, >= textgename, > textgtname, <= textlename, < textltname, <> textnename
text text: >= text_ge, > text_gt, <= text_le, < text_lt, ~>=~ text_pattern_ge, ~>~ text_pattern_gt, ~<=~ text_pattern_le, ~<~ text_pattern_lt, || textcat, = texteq, ~~* texticlike, !~~* texticnlike, ~* texticregexeq, !~* texticregexne, ~~ textlike, <> textne, !~~ textnlike, ~ textregexeq, !~ textregexne
time date: + timedate_pl
time interval: - time_mi_interval, + time_pl_interval
time time: = time_eq, >= time_ge, > time_gt, <= time_le, < time_lt, - time_mi_time, <> time_ne
timestamp date: = timestamp_eq_date, >= timestamp_ge_date, > timestamp_gt_date, <= timestamp_le_date, < timestamp_lt_date, <> timestamp_ne_date
timestamp interval: - timestamp_mi_interval, + timestamp_pl_interval
timestamp timestamp: = timestamp_eq, >= timestamp_ge, > timestamp_gt, <= timestamp_le, < timestamp_lt, - timestamp_mi, <> timestamp_ne
timestamp timestamptz: = timestamp_eq_timestamptz, >= timestamp_ge_timestamptz, > timestamp_gt_timestamptz, <= timestamp_le_timestamptz, < timestamp_lt_timestamptz, <> timestamp_ne_timestamptz
timestamptz date: = timestamptz_eq_date, >= timestamptz_ge_date, > timestamptz_gt_date, <= timestamptz_le_date, < timestamptz_lt_date, <> timestamptz_ne_date
timestamptz interval: - timestamptz_mi_interval, + timestamptz_pl_interval
timestamptz timestamp: = timestamptz_eq_timestamp, >= timestamptz_ge_timestamp, > timestamptz_gt_timestamp, <= timestamptz_le_timestamp, < timestamptz_lt_timestamp, <> timestamptz_ne_timestamp
timestamptz timestamptz: = timestamptz_eq, >= timestamptz_ge, > timestamptz_gt, <= timestamptz_le, < timestamptz_lt, - timestamptz_mi, <> timestamptz_ne
timetz date: + timetzdate_pl
timetz interval: - timetz_mi_interval, + timetz_pl_interval
timetz timetz: = timetz_eq, >= timetz_ge, > timetz_gt, <= timetz_le, < timetz_lt, <> timetz_ne
uuid uuid: = uuid_eq, >= uuid_ge, > uuid_gt, <= uuid_le, < uuid_lt, <> uuid_ne
varbit varbit: || bitcat, = varbiteq, >= varbitge, > varbitgt, <= varbitle, < varbitlt, <> varbitne
pg_lsn pg_lsn: = pg_lsn_eq, >= pg_lsn_ge, > pg_lsn_gt, <= pg_lsn_le, < pg_lsn_lt, <> pg_lsn_ne, - pg_lsn_mi
pg_lsn numeric: + pg_lsn_pli, - pg_lsn_mii
numeric pg_lsn: + numeric_pl_pg_lsn
xid8 xid8: = xid8eq, >= xid8ge, > xid8gt, <= xid8le, < xid8lt, <> xid8ne
xid xid: = xideq, <> xidneq
xid int4: = xideqint4, <> xidneqint4
`
