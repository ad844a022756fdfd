/*
 * infer_doubtful.h
 *		Lists sample documents whose layout is easily mistaken, and the
 *		declarations inferred from them.
 *
 * Included by test_infer.c only.
 */
/* clang-format off */
	{"pairs of a time and a value",
	 "{'ts': T(2024-03-04T08:00:00), 'data': [[1709539200000, 31.16], [1709539260000, 31]]}, "
	 "{'ts': T(2024-03-04T09:00:00), 'data': [[1709542800000, 30.5], [1709542830000, 30]]}",
	 "time ts time, attribute data json; -- data is declared as jsonb\nIts elements are arrays of "
	 "up to 2 values, which fill no unit of time."},
	{"pairs with a date",
	 "{'ts': T(2024-03-04T08:00:00), 'data': [[T(2024-03-04T08:00:01), 31.16]]}",
	 "time ts time, attribute data json; -- data is declared as jsonb\nIts elements are arrays of "
	 "up to 2 values, which fill no unit of time."},
	{"pairs with an offset",
	 "{'ts': T(2024-03-04T08:00:00), 'data': [[0, 31], [61, 20.5], [70, 80]]}, {'ts': "
	 "T(2024-03-04T09:00:00), 'data': [[7, 31], [10, 9]]}",
	 "time ts time, attribute data json; -- data is declared as jsonb\nIts elements are arrays of "
	 "up to 2 values, which fill no unit of time."},
	{"undefined, which is no null",
	 "{'ts': T(2024-03-04T08:00:00), 'a': {'$undefined': true}}, {'ts': T(2024-03-04T09:00:00), "
	 "'a': {'n': 1}}",
	 "time ts time, attribute a json; -- a is declared as jsonb\nIt holds values of several types."},
	{"keys of so many digits as a number has",
	 "{'ts': T(2024-03-04T08:00:00), 'a': {'999999999999999999': 1}, 'b': {'0': 1}}",
	 "time ts time, slot key text, a double field a.{key}, attribute b json; -- keys "
	 "999999999999999999 to 999999999999999999 of a.{key} are assumed to be names, and are values "
	 "of column \"key\"\nNothing shows that they count a unit of time. -- b is declared as "
	 "jsonb\nIts keys are numbers, and nothing shows that they count a unit of time."},
	{"weeks",
	 "{'week': T(2024-03-04T00:00:00), 'days': {'0': 1, '6': 2}}, {'week': "
	 "T(2024-03-11T00:00:00), 'days': {'0': 1, '6': 2}}, {'week': T(2024-03-25T00:00:00), 'days': "
	 "{'0': 1, '6': 2}}",
	 "time week time, days double field days.{day}; span 7 days readonly -- keys 0 to 6 of "
	 "days.{day} are assumed to be days of 7 days\nThe keys reach both ends of their unit, but do "
	 "not fill it. -- week does not hold multiples of the span of the buckets\nThe table is "
	 "read-only, because an INSERT would begin buckets at such multiples."},
	{"hours of a week",
	 "{'week': T(2024-03-04T00:00:00), 'v': {'0': 1, '167': 2}}, {'week': T(2024-03-11T00:00:00), "
	 "'v': {'0': 1, '167': 2}}, {'week': T(2024-03-25T00:00:00), 'v': {'0': 1, '167': 2}}",
	 "time week time, v double field v.{hour}; span 7 days readonly -- keys 0 to 167 of v.{hour} "
	 "are assumed to be hours of 7 days\nThe keys reach both ends of their unit, but do not fill "
	 "it. -- week does not hold multiples of the span of the buckets\nThe table is read-only, "
	 "because an INSERT would begin buckets at such multiples."},
	{"minutes of six hours",
	 "{'ts': T(2024-03-04T00:00:00), 'v': {'0': 1, '359': 2}}, {'ts': T(2024-03-04T06:00:00), "
	 "'v': {'0': 1, '359': 2}}, {'ts': T(2024-03-04T18:00:00), 'v': {'0': 1, '359': 2}}",
	 "time ts time, v double field v.{minute}; span 6 hours -- keys 0 to 359 of v.{minute} are "
	 "assumed to be minutes of 6 hours\nThe keys reach both ends of their unit, but do not fill "
	 "it."},
	{"twelve in every hour, as an array",
	 "{'ts': T(2024-03-04T08:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}, {'ts': "
	 "T(2024-03-04T09:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}, {'ts': "
	 "T(2024-03-04T10:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}",
	 "time ts time, attribute v double[]; -- v is declared as an array\nIts up to 12 numbers fill "
	 "no unit of time. If the index counts a unit, give the column a type and a field such as "
	 "v[{minute}]."},
	{"four in every hour, as an array",
	 "{'ts': T(2024-03-04T08:00:00), 'v': [0, 1, 2, 3]}, {'ts': T(2024-03-04T09:00:00), 'v': [0, "
	 "1, 2, 3]}, {'ts': T(2024-03-04T10:00:00), 'v': [0, 1, 2, 3]}",
	 "time ts time, attribute v double[];"},
	{"forty-eight a day, as an array",
	 "{'ts': T(2024-03-04T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
	 "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, "
	 "39, 40, 41, 42, 43, 44, 45, 46, 47]}, {'ts': T(2024-03-05T00:00:00), 'v': [0, 1, 2, 3, 4, "
	 "5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, "
	 "29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47]}",
	 "time ts time, v double field v[{30 minutes}]; span 1 day -- keys 0 to 47 of v[{30 minutes}] "
	 "are assumed to be steps of 30 minutes of a day\nThe keys are all parts of their unit."},
	{"forty-eight a day, as keys",
	 "{'ts': T(2024-03-04T00:00:00), 'v': {'0': 0, '1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': "
	 "6, '7': 7, '8': 8, '9': 9, '10': 10, '11': 11, '12': 12, '13': 13, '14': 14, '15': 15, "
	 "'16': 16, '17': 17, '18': 18, '19': 19, '20': 20, '21': 21, '22': 22, '23': 23, '24': 24, "
	 "'25': 25, '26': 26, '27': 27, '28': 28, '29': 29, '30': 30, '31': 31, '32': 32, '33': 33, "
	 "'34': 34, '35': 35, '36': 36, '37': 37, '38': 38, '39': 39, '40': 40, '41': 41, '42': 42, "
	 "'43': 43, '44': 44, '45': 45, '46': 46, '47': 47}}, {'ts': T(2024-03-05T00:00:00), 'v': "
	 "{'0': 0, '1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': 7, '8': 8, '9': 9, '10': 10, "
	 "'11': 11, '12': 12, '13': 13, '14': 14, '15': 15, '16': 16, '17': 17, '18': 18, '19': 19, "
	 "'20': 20, '21': 21, '22': 22, '23': 23, '24': 24, '25': 25, '26': 26, '27': 27, '28': 28, "
	 "'29': 29, '30': 30, '31': 31, '32': 32, '33': 33, '34': 34, '35': 35, '36': 36, '37': 37, "
	 "'38': 38, '39': 39, '40': 40, '41': 41, '42': 42, '43': 43, '44': 44, '45': 45, '46': 46, "
	 "'47': 47}}",
	 "time ts time, v double field v.{30 minutes}; span 1 day -- keys 0 to 47 of v.{30 minutes} "
	 "are assumed to be steps of 30 minutes of a day\nThe keys are all parts of their unit."},
	{"hours of a day, as an array",
	 "{'ts': T(2024-03-04T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
	 "16, 17, 18, 19, 20, 21, 22, 23]}, {'ts': T(2024-03-05T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, "
	 "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}, {'ts': "
	 "T(2024-03-06T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
	 "18, 19, 20, 21, 22, 23]}",
	 "time ts time, v double field v[{hour}];"},
	{"quarters of every hour",
	 "{'day': T(2024-03-04T00:00:00), 'kwh': {'0': {'0': 0, '1': 1, '2': 2, '3': 3}, '1': {'0': "
	 "0, '1': 1, '2': 2, '3': 3}, '2': {'0': 0, '1': 1, '2': 2, '3': 3}, '3': {'0': 0, '1': 1, "
	 "'2': 2, '3': 3}, '4': {'0': 0, '1': 1, '2': 2, '3': 3}, '5': {'0': 0, '1': 1, '2': 2, '3': "
	 "3}, '6': {'0': 0, '1': 1, '2': 2, '3': 3}, '7': {'0': 0, '1': 1, '2': 2, '3': 3}, '8': "
	 "{'0': 0, '1': 1, '2': 2, '3': 3}, '9': {'0': 0, '1': 1, '2': 2, '3': 3}, '10': {'0': 0, "
	 "'1': 1, '2': 2, '3': 3}, '11': {'0': 0, '1': 1, '2': 2, '3': 3}, '12': {'0': 0, '1': 1, "
	 "'2': 2, '3': 3}, '13': {'0': 0, '1': 1, '2': 2, '3': 3}, '14': {'0': 0, '1': 1, '2': 2, "
	 "'3': 3}, '15': {'0': 0, '1': 1, '2': 2, '3': 3}, '16': {'0': 0, '1': 1, '2': 2, '3': 3}, "
	 "'17': {'0': 0, '1': 1, '2': 2, '3': 3}, '18': {'0': 0, '1': 1, '2': 2, '3': 3}, '19': {'0': "
	 "0, '1': 1, '2': 2, '3': 3}, '20': {'0': 0, '1': 1, '2': 2, '3': 3}, '21': {'0': 0, '1': 1, "
	 "'2': 2, '3': 3}, '22': {'0': 0, '1': 1, '2': 2, '3': 3}, '23': {'0': 0, '1': 1, '2': 2, "
	 "'3': 3}}}, {'day': T(2024-03-05T00:00:00), 'kwh': {'0': {'0': 0, '1': 1, '2': 2, '3': 3}, "
	 "'1': {'0': 0, '1': 1, '2': 2, '3': 3}, '2': {'0': 0, '1': 1, '2': 2, '3': 3}, '3': {'0': 0, "
	 "'1': 1, '2': 2, '3': 3}, '4': {'0': 0, '1': 1, '2': 2, '3': 3}, '5': {'0': 0, '1': 1, '2': "
	 "2, '3': 3}, '6': {'0': 0, '1': 1, '2': 2, '3': 3}, '7': {'0': 0, '1': 1, '2': 2, '3': 3}, "
	 "'8': {'0': 0, '1': 1, '2': 2, '3': 3}, '9': {'0': 0, '1': 1, '2': 2, '3': 3}, '10': {'0': "
	 "0, '1': 1, '2': 2, '3': 3}, '11': {'0': 0, '1': 1, '2': 2, '3': 3}, '12': {'0': 0, '1': 1, "
	 "'2': 2, '3': 3}, '13': {'0': 0, '1': 1, '2': 2, '3': 3}, '14': {'0': 0, '1': 1, '2': 2, "
	 "'3': 3}, '15': {'0': 0, '1': 1, '2': 2, '3': 3}, '16': {'0': 0, '1': 1, '2': 2, '3': 3}, "
	 "'17': {'0': 0, '1': 1, '2': 2, '3': 3}, '18': {'0': 0, '1': 1, '2': 2, '3': 3}, '19': {'0': "
	 "0, '1': 1, '2': 2, '3': 3}, '20': {'0': 0, '1': 1, '2': 2, '3': 3}, '21': {'0': 0, '1': 1, "
	 "'2': 2, '3': 3}, '22': {'0': 0, '1': 1, '2': 2, '3': 3}, '23': {'0': 0, '1': 1, '2': 2, "
	 "'3': 3}}}",
	 "time day time, kwh long field kwh.{hour}.{15 minutes}; -- keys 0 to 23 of kwh.{hour}.{15 "
	 "minutes} are assumed to be steps of 15 minutes of hours of a day\nThe keys are all parts of "
	 "their unit. They could also be steps of 15 seconds of minutes of an hour."},
	{"quarters of every hour, as arrays",
	 "{'day': T(2024-03-04T00:00:00), 'kwh': [[0, 0, 0, 0], [1, 1, 3, 2], [2, 4, 2, 0], [0, 4, 1, "
	 "0], [1, 1, 0, 2], [2, 0, 3, 0], [0, 1, 2, 0], [1, 4, 1, 2], [2, 4, 0, 0], [0, 1, 3, 0], [1, "
	 "0, 2, 2], [2, 1, 1, 0], [0, 4, 0, 0], [1, 4, 3, 2], [2, 1, 2, 0], [0, 0, 1, 0], [1, 1, 0, "
	 "2], [2, 4, 3, 0], [0, 4, 2, 0], [1, 1, 1, 2], [2, 0, 0, 0], [0, 1, 3, 0], [1, 4, 2, 2], [2, "
	 "4, 1, 0]]}, {'day': T(2024-03-05T00:00:00), 'kwh': [[0, 0, 0, 0], [1, 1, 3, 2], [2, 4, 2, "
	 "0], [0, 4, 1, 0], [1, 1, 0, 2], [2, 0, 3, 0], [0, 1, 2, 0], [1, 4, 1, 2], [2, 4, 0, 0], [0, "
	 "1, 3, 0], [1, 0, 2, 2], [2, 1, 1, 0], [0, 4, 0, 0], [1, 4, 3, 2], [2, 1, 2, 0], [0, 0, 1, "
	 "0], [1, 1, 0, 2], [2, 4, 3, 0], [0, 4, 2, 0], [1, 1, 1, 2], [2, 0, 0, 0], [0, 1, 3, 0], [1, "
	 "4, 2, 2], [2, 4, 1, 0]]}",
	 "time day time, attribute kwh json; -- kwh is declared as jsonb\nIts elements are arrays of "
	 "up to 4 values, which fill no unit of time."},
	{"an array that fits no unit",
	 "{'ts': T(2024-03-04T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
	 "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, "
	 "39]}, {'ts': T(2024-03-05T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
	 "14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, "
	 "37, 38, 39]}, {'ts': T(2024-03-06T00:00:00), 'v': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
	 "12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, "
	 "35, 36, 37, 38, 39]}",
	 "time ts time, attribute v long[]; -- v is declared as an array\nIts up to 40 numbers fill "
	 "no unit of time. If the index counts a unit, give the column a type and a field such as "
	 "v[{minute}]."},
	{"an embedding",
	 "{'made': T(2024-03-04T08:12:31), 'v': [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.10, "
	 "0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20, 0.21, 0.22, 0.23, 0.24, 0.25, "
	 "0.26, 0.27, 0.28, 0.29, 0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39, 0.40, "
	 "0.41, 0.42, 0.43, 0.44, 0.45, 0.46, 0.47, 0.48]}, {'made': T(2024-03-05T17:05:03), 'v': "
	 "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, "
	 "0.17, 0.18, 0.19, 0.20, 0.21, 0.22, 0.23, 0.24, 0.25, 0.26, 0.27, 0.28, 0.29, 0.30, 0.31, "
	 "0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39, 0.40, 0.41, 0.42, 0.43, 0.44, 0.45, 0.46, "
	 "0.47, 0.48]}, {'made': T(2024-03-06T11:45:59), 'v': [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, "
	 "0.8, 0.9, 0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20, 0.21, 0.22, "
	 "0.23, 0.24, 0.25, 0.26, 0.27, 0.28, 0.29, 0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, "
	 "0.38, 0.39, 0.40, 0.41, 0.42, 0.43, 0.44, 0.45, 0.46, 0.47, 0.48]}",
	 "time made time, attribute v double[]; -- v is declared as an array\nIts up to 48 numbers "
	 "fill no unit of time. If the index counts a unit, give the column a type and a field such "
	 "as v[{minute}]."},
	{"lines of orders",
	 "{'no': 0, 'placed': T(2024-03-04T08:12:00), 'lines': [{'sku': 'a0', 'qty': 1, 'price': "
	 "9.5}, {'sku': 'b', 'qty': 2, 'price': 4.25}]}, {'no': 1, 'placed': T(2024-03-05T17:05:00), "
	 "'lines': [{'sku': 'a1', 'qty': 1, 'price': 9.5}, {'sku': 'b', 'qty': 3, 'price': 4.25}]}, "
	 "{'no': 2, 'placed': T(2024-03-06T11:45:00), 'lines': [{'sku': 'a2', 'qty': 1, 'price': "
	 "9.5}, {'sku': 'b', 'qty': 4, 'price': 4.25}]}",
	 "no double, time placed time, attribute lines json; -- lines is declared as jsonb\nIts "
	 "elements are documents without a time that agrees with a time of their document."},
	{"offsets of buckets that have another time",
	 "{'start': T(2024-03-04T08:00:00), 'v': [{'o': 0, 'x': 7}, {'o': 600, 'x': 7}, {'o': 1200, "
	 "'x': 7}, {'o': 1800, 'x': 7}, {'o': 2400, 'x': 7}, {'o': 3000, 'x': 7}]}, {'start': "
	 "T(2024-03-04T09:00:00), 'v': [{'o': 1, 'x': 8}, {'o': 601, 'x': 8}, {'o': 1201, 'x': 8}, "
	 "{'o': 1801, 'x': 8}, {'o': 2401, 'x': 8}, {'o': 3001, 'x': 8}]}, {'start': "
	 "T(2024-03-04T11:00:00), 'v': [{'o': 2, 'x': 9}, {'o': 602, 'x': 9}, {'o': 1202, 'x': 9}, "
	 "{'o': 1802, 'x': 9}, {'o': 2402, 'x': 9}, {'o': 3002, 'x': 9}]}",
	 "time o time field v[].o as offset:second, x double field v[].x; bucket start span 1 hour -- "
	 "v[].o is assumed to count seconds since the bucket's time"},
	{"votes",
	 "{'made': T(2024-03-04T08:12:31), 'votes': {'1': 4, '2': 7, '3': 0}}, {'made': "
	 "T(2024-03-05T17:05:03), 'votes': {'1': 4, '2': 7, '3': 0}}, {'made': "
	 "T(2024-03-06T11:45:59), 'votes': {'1': 4, '2': 7, '3': 0}}",
	 "time made time, slot key text, votes double field votes.{key}; -- keys 1 to 3 of "
	 "votes.{key} are assumed to be names, and are values of column \"key\"\nNothing shows that "
	 "they count a unit of time."},
	{"stars",
	 "{'made': T(2024-03-04T08:12:31), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, "
	 "{'made': T(2024-03-05T17:05:03), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, "
	 "{'made': T(2024-03-06T11:45:59), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}",
	 "time made time, slot key text, stars double field stars.{key}; -- keys 1 to 5 of "
	 "stars.{key} are assumed to be names, and are values of column \"key\"\nNothing shows that "
	 "they count a unit of time."},
	{"stars of days far apart",
	 "{'day': T(2024-03-04T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, {'day': "
	 "T(2024-03-07T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, {'day': "
	 "T(2024-03-12T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}",
	 "time day time, slot key text, stars double field stars.{key}; -- keys 1 to 5 of stars.{key} "
	 "are assumed to be names, and are values of column \"key\"\nNothing shows that they count a "
	 "unit of time. They could also be hours of a day."},
	{"forty keys from any second on",
	 "{'start': T(2024-03-04T08:00:17), 'v': {'0': 1, '39': 3}}, {'start': "
	 "T(2024-03-04T08:47:17), 'v': {'0': 1, '39': 3}}, {'start': T(2024-03-04T09:34:17), 'v': "
	 "{'0': 1, '39': 3}}",
	 "time start time, slot key text, v double field v.{key}; -- keys 0 to 39 of v.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time. They could also be seconds of a minute."},
	{"a single bucket with sums",
	 "{'sensor': 5, 'day': T(2024-03-04T00:00:00), 'first': 1709539200, 'n': 2, 'total': 106, "
	 "'s': [{'val': 50, 'time': 1709539200}, {'val': 56, 'time': 1709539250}]}",
	 "time time time field s[].time as epoch, sensor int, val double field s[].val, attribute n int, "
	 "attribute total int; bucket day span 1 day first first readonly -- n could be count_field\nOnly "
	 "one bucket was sampled. The column is declared as an attribute, and the table as read-only. -- "
	 "total could be sum_field\nOnly one bucket was sampled. The column is declared as an attribute, "
	 "and the table as read-only."},
	{"buckets of one point with its time",
	 "{'sensor': 5, 'day': T(2024-03-04T00:00:00), 'first': 1709539200, 's': [{'val': 50, 'time': "
	 "1709539200}]}",
	 "time time time field s[].time as epoch, sensor int, val double field s[].val, attribute first "
	 "int; bucket day span 1 day readonly -- first could be bucket_first_field or "
	 "bucket_last_field\nEvery sampled bucket has a single point, so the samples cannot show which. "
	 "The column is declared as an attribute, and the table as read-only."},
	{"bounds, but no time of buckets",
	 "{'sensor': 5, 'from': T(2024-03-04T07:00:17), 'to': T(2024-03-04T07:00:25), 'n': 2, 's': "
	 "[{'t': T(2024-03-04T07:00:17), 'v': 119}, {'t': T(2024-03-04T07:00:25), 'v': 175}]}, "
	 "{'sensor': 5, 'from': T(2024-03-04T08:00:17), 'to': T(2024-03-04T08:00:26), 'n': 3, 's': "
	 "[{'t': T(2024-03-04T08:00:17), 'v': 136}, {'t': T(2024-03-04T08:00:20), 'v': 160}, {'t': "
	 "T(2024-03-04T08:00:26), 'v': 208}]}",
	 "time t time field s[].t, sensor int, v double field s[].v; first from last to count n readonly "
	 "-- no field holds the time of the buckets of s[]\nThe table is read-only, because an INSERT "
	 "would not find the buckets."},
	{"texts that look like times",
	 "{'at': '2024-03-04T08:00:00+01:00', 'on': '04/03/2024', 'id': '2024', 'v': 1}, {'at': "
	 "'2024-03-04T08:00:30+01:00', 'on': '04/03/2024', 'id': '2024', 'v': 1}",
	 "at text, on text, id text, v double; -- at looks like a time, but has no known pattern\nIf it "
	 "is a time, give the column a time type, and set its option \"format\" to text: with a pattern "
	 "of to_char. -- on looks like a time, but has no known pattern\nIf it is a time, give the column "
	 "a time type, and set its option \"format\" to text: with a pattern of to_char."},
	{"buckets that begin at a microsecond",
	 "{'t': 1381446397123457, 'v': {'0': 1.5, '59': 2.5}}, {'t': 1381449997123458, 'v': {'0': 1.5, "
	 "'59': 2.5}}, {'t': 1381453597123459, 'v': {'0': 1.5, '59': 2.5}}",
	 "time t time as epoch_us, v double field v.{minute}; readonly -- keys 0 to 59 of v.{minute} "
	 "are assumed to be minutes of an hour\nThe keys reach both ends of their unit, but do not "
	 "fill it. They could also be seconds of a minute. -- t does not hold multiples of the span "
	 "of the buckets\nThe table is read-only, because an INSERT would begin buckets at such "
	 "multiples."},
