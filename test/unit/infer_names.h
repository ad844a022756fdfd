/*
 * infer_names.h
 *		Lists sample documents whose numbers are not time, or not of one kind,
 *		and the declarations inferred from them.
 *
 * Included by test_infer.c only.
 */
/* clang-format off */
	{"D1: series that a date tells apart",
	 "{'day': T(2024-01-01T00:00:00), 'expiry': T(2025-06-15T00:00:00), 'p': {'0': 1, '5': 2, "
	 "'23': 3}}, {'day': T(2024-01-01T00:00:00), 'expiry': T(2025-09-15T00:00:00), 'p': {'0': 1, "
	 "'5': 2, '23': 3}}, {'day': T(2024-01-02T00:00:00), 'expiry': T(2025-06-15T00:00:00), 'p': "
	 "{'0': 1, '5': 2, '23': 3}}, {'day': T(2024-01-02T00:00:00), 'expiry': "
	 "T(2025-09-15T00:00:00), 'p': {'0': 1, '5': 2, '23': 3}}",
	 "time day time, expiry time, p double field p.{hour}; -- keys 0 to 23 of p.{hour} are "
	 "assumed to be hours of a day\nThe keys reach both ends of their unit, but do not fill it."},
	{"D1: series that fractions tell apart",
	 "{'lat': 52.5, 'lon': 13.4, 'day': T(2024-01-01T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}, "
	 "{'lat': 52.5, 'lon': 15.4, 'day': T(2024-01-01T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}, "
	 "{'lat': 52.5, 'lon': 13.4, 'day': T(2024-01-02T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}, "
	 "{'lat': 52.5, 'lon': 15.4, 'day': T(2024-01-02T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}",
	 "time day time, lon double, t double field t.{hour}, attribute lat double; -- keys 0 to 23 "
	 "of t.{hour} are assumed to be hours of a day\nThe keys reach both ends of their unit, but "
	 "do not fill it."},
	{"D1: parallel arrays by latitude",
	 "{'latitude': 52.5, 'longitude': 13.4, 'date': T(2024-01-01T00:00:00), 'hourly': {'time': "
	 "[T(2024-01-01T00:00:00), T(2024-01-01T01:00:00)], 'temperature_2m': [1.5, 2.5]}}, "
	 "{'latitude': 52.5, 'longitude': 15.4, 'date': T(2024-01-01T00:00:00), 'hourly': {'time': "
	 "[T(2024-01-01T00:00:00), T(2024-01-01T01:00:00)], 'temperature_2m': [1.5, 2.5]}}, "
	 "{'latitude': 52.5, 'longitude': 13.4, 'date': T(2024-01-02T00:00:00), 'hourly': {'time': "
	 "[T(2024-01-02T00:00:00), T(2024-01-02T01:00:00)], 'temperature_2m': [1.5, 2.5]}}, "
	 "{'latitude': 52.5, 'longitude': 15.4, 'date': T(2024-01-02T00:00:00), 'hourly': {'time': "
	 "[T(2024-01-02T00:00:00), T(2024-01-02T01:00:00)], 'temperature_2m': [1.5, 2.5]}}",
	 "time time time field hourly.time[], longitude double, temperature_2m double field "
	 "hourly.temperature_2m[], attribute latitude double; bucket date span 1 day"},
	{"D1: documents without any key",
	 "{'day': T(2024-01-01T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}, {'day': "
	 "T(2024-01-01T00:00:00), 't': {'0': 2, '12': 3, '23': 2}}, {'day': T(2024-01-02T00:00:00), "
	 "'t': {'0': 1, '12': 3, '23': 2}}, {'day': T(2024-01-02T00:00:00), 't': {'0': 2, '12': 3, "
	 "'23': 2}}",
	 "time day time, t double field t.{hour}; readonly -- keys 0 to 23 of t.{hour} are assumed to "
	 "be hours of a day\nThe keys reach both ends of their unit, but do not fill it. -- several "
	 "documents have the same time and keys\nThe table is read-only, because an INSERT would not "
	 "find the right one."},
	{"D2: status codes of an hour",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'200': 9, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'200': 10, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T02:00:00), 'n': {'200': 11, '404': 1, '503': 0}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 200 to 503 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: status codes of an hour, some",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'200': 0, '301': 0, '404': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'200': 1, '301': 1, '500': 1, '503': 1}}, {'ts': "
	 "T(2024-01-01T02:00:00), 'n': {'200': 2, '301': 2, '500': 2}}, {'ts': "
	 "T(2024-01-01T03:00:00), 'n': {'200': 3, '500': 3}}, {'ts': T(2024-01-01T04:00:00), 'n': "
	 "{'200': 4, '301': 4, '500': 4, '503': 4}}, {'ts': T(2024-01-01T05:00:00), 'n': {'200': 5, "
	 "'404': 5}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 200 to 503 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: status codes of a day",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'200': 9, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'200': 10, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-03T00:00:00), 'n': {'200': 11, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-04T00:00:00), 'n': {'200': 12, '404': 1, '503': 0}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 200 to 503 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: bounds of a histogram",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'1': 0, '2': 0, '5': 0, '10': 0, '20': 0, '50': 0, "
	 "'100': 0, '200': 0, '500': 0, '1000': 0}}, {'ts': T(2024-01-01T01:00:00), 'n': {'1': 1, "
	 "'2': 1, '5': 1, '10': 1, '20': 1, '50': 1, '100': 1, '200': 1, '500': 1, '1000': 1}}, "
	 "{'ts': T(2024-01-01T02:00:00), 'n': {'1': 2, '2': 2, '5': 2, '10': 2, '20': 2, '50': 2, "
	 "'100': 2, '200': 2, '500': 2, '1000': 2}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 1000 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: VLANs of a day",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'1': 0, '10': 0, '20': 0, '30': 0, '100': 0, '200': "
	 "0}}, {'ts': T(2024-01-02T00:00:00), 'n': {'1': 1, '10': 1, '20': 1, '30': 1, '100': 1, "
	 "'200': 1}}, {'ts': T(2024-01-03T00:00:00), 'n': {'1': 2, '10': 2, '20': 2, '30': 2, '100': "
	 "2, '200': 2}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 200 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"VLANs of an hour, of which some look like steps",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'10': 0, '30': 0, '50': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'10': 1, '20': 1, '40': 1}}, {'ts': T(2024-01-01T02:00:00), "
	 "'n': {'20': 2, '30': 2, '50': 2}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 10 to 50 of n.{key} are assumed "
	 "to be names, and are values of column \"key\"\nNothing shows that they count a unit of time. "
	 "They could also be minutes of an hour."},
	{"D2: country codes of a day",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'1': 0, '33': 0, '44': 0, '49': 0, '351': 0}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'1': 1, '33': 1, '44': 1, '49': 1, '351': 1}}, {'ts': "
	 "T(2024-01-03T00:00:00), 'n': {'1': 2, '33': 2, '44': 2, '49': 2, '351': 2}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 351 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: stars of a day, one missing",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'2': 0, '3': 0, '4': 0, '5': 0}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'1': 1, '3': 1, '4': 1, '5': 1}}, {'ts': "
	 "T(2024-01-03T00:00:00), 'n': {'1': 2, '2': 2, '4': 2, '5': 2}}, {'ts': "
	 "T(2024-01-04T00:00:00), 'n': {'1': 3, '2': 3, '3': 3, '5': 3}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 5 of n.{key} are assumed "
	 "to be names, and are values of column \"key\"\nNothing shows that they count a unit of "
	 "time. They could also be hours of a day."},
	{"D2: stars of an hour",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'2': 0, '3': 0, '4': 0, '5': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'1': 1, '3': 1, '4': 1, '5': 1}}, {'ts': "
	 "T(2024-01-01T02:00:00), 'n': {'1': 2, '2': 2, '4': 2, '5': 2}}, {'ts': "
	 "T(2024-01-01T03:00:00), 'n': {'1': 3, '2': 3, '3': 3, '5': 3}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 5 of n.{key} are assumed "
	 "to be names, and are values of column \"key\"\nNothing shows that they count a unit of time."},
	{"D2: floors of an hour",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'1': 0, '2': 0, '3': 0, '4': 0, '5': 0, '6': 0, '7': "
	 "0, '8': 0, '9': 0, '10': 0, '11': 0, '12': 0}}, {'ts': T(2024-01-01T01:00:00), 'n': {'1': "
	 "1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1, '10': 1, '11': 1, '12': "
	 "1}}, {'ts': T(2024-01-01T02:00:00), 'n': {'1': 2, '2': 2, '3': 2, '4': 2, '5': 2, '6': 2, "
	 "'7': 2, '8': 2, '9': 2, '10': 2, '11': 2, '12': 2}}, {'ts': T(2024-01-01T03:00:00), 'n': "
	 "{'1': 3, '2': 3, '3': 3, '4': 3, '5': 3, '6': 3, '7': 3, '8': 3, '9': 3, '10': 3, '11': 3, "
	 "'12': 3}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1 to 12 of n.{key} are assumed "
	 "to be names, and are values of column \"key\"\nNothing shows that they count a unit of time."},
	{"D2: product ids of a day",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'1025': 0, '2296': 0, '5489': 0, '10604': 0, '17641': "
	 "0, '26600': 0, '37481': 0, '50284': 0, '65009': 0, '2656': 0}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'1036': 1, '2369': 1, '5624': 1, '10801': 1, '17900': 1, "
	 "'26921': 1, '37864': 1, '50729': 1, '65516': 1, '3225': 1}}, {'ts': T(2024-01-03T00:00:00), "
	 "'n': {'1049': 2, '2444': 2, '5761': 2, '11000': 2, '18161': 2, '27244': 2, '38249': 2, "
	 "'51176': 2, '66025': 2, '3796': 2}}, {'ts': T(2024-01-04T00:00:00), 'n': {'1064': 3, "
	 "'2521': 3, '5900': 3, '11201': 3, '18424': 3, '27569': 3, '38636': 3, '51625': 3, '66536': "
	 "3, '4369': 3}}",
	 "time ts time, slot key text, n double field n.{key}; -- keys 1025 to 66536 of n.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D2: registers of a minute",
	 "{'ts': T(2024-01-01T00:00:00), 'reg': {'40001': 1, '40002': 2}}, {'ts': "
	 "T(2024-01-01T00:01:00), 'reg': {'40001': 1, '40002': 2}}",
	 "time ts time, slot key text, reg double field reg.{key}; -- keys 40001 to 40002 of "
	 "reg.{key} are assumed to be names, and are values of column \"key\"\nNothing shows that "
	 "they count a unit of time."},
	{"D2: 48 ports of a minute",
	 "{'ts': T(2024-01-01T00:00:00), 'rx': {'1': 0, '2': 0, '3': 0, '4': 0, '5': 0, '6': 0, '7': "
	 "0, '8': 0, '9': 0, '10': 0, '11': 0, '12': 0, '13': 0, '14': 0, '15': 0, '16': 0, '17': 0, "
	 "'18': 0, '19': 0, '20': 0, '21': 0, '22': 0, '23': 0, '24': 0, '25': 0, '26': 0, '27': 0, "
	 "'28': 0, '29': 0, '30': 0, '31': 0, '32': 0, '33': 0, '34': 0, '35': 0, '36': 0, '37': 0, "
	 "'38': 0, '39': 0, '40': 0, '41': 0, '42': 0, '43': 0, '44': 0, '45': 0, '46': 0, '47': 0, "
	 "'48': 0}}, {'ts': T(2024-01-01T00:01:00), 'rx': {'1': 1, '2': 1, '3': 1, '4': 1, '5': 1, "
	 "'6': 1, '7': 1, '8': 1, '9': 1, '10': 1, '11': 1, '12': 1, '13': 1, '14': 1, '15': 1, '16': "
	 "1, '17': 1, '18': 1, '19': 1, '20': 1, '21': 1, '22': 1, '23': 1, '24': 1, '25': 1, '26': "
	 "1, '27': 1, '28': 1, '29': 1, '30': 1, '31': 1, '32': 1, '33': 1, '34': 1, '35': 1, '36': "
	 "1, '37': 1, '38': 1, '39': 1, '40': 1, '41': 1, '42': 1, '43': 1, '44': 1, '45': 1, '46': "
	 "1, '47': 1, '48': 1}}, {'ts': T(2024-01-01T00:02:00), 'rx': {'1': 2, '2': 2, '3': 2, '4': "
	 "2, '5': 2, '6': 2, '7': 2, '8': 2, '9': 2, '10': 2, '11': 2, '12': 2, '13': 2, '14': 2, "
	 "'15': 2, '16': 2, '17': 2, '18': 2, '19': 2, '20': 2, '21': 2, '22': 2, '23': 2, '24': 2, "
	 "'25': 2, '26': 2, '27': 2, '28': 2, '29': 2, '30': 2, '31': 2, '32': 2, '33': 2, '34': 2, "
	 "'35': 2, '36': 2, '37': 2, '38': 2, '39': 2, '40': 2, '41': 2, '42': 2, '43': 2, '44': 2, "
	 "'45': 2, '46': 2, '47': 2, '48': 2}}",
	 "time ts time, slot key text, rx long field rx.{key}; -- keys 1 to 48 of rx.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time. They could also be seconds of a minute."},
	{"D2: ports of two switches",
	 "{'ts': T(2024-01-01T00:00:00), 'rx': {'1': 0, '2': 0, '3': 0, '4': 0, '5': 0, '6': 0, '7': "
	 "0, '8': 0, '9': 0, '10': 0, '11': 0, '12': 0, '13': 0, '14': 0, '15': 0, '16': 0, '17': 0, "
	 "'18': 0, '19': 0, '20': 0, '21': 0, '22': 0, '23': 0, '24': 0}}, {'ts': "
	 "T(2024-01-01T00:01:00), 'rx': {'1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': "
	 "1, '9': 1, '10': 1, '11': 1, '12': 1, '13': 1, '14': 1, '15': 1, '16': 1, '17': 1, '18': 1, "
	 "'19': 1, '20': 1, '21': 1, '22': 1, '23': 1, '24': 1, '25': 1, '26': 1, '27': 1, '28': 1, "
	 "'29': 1, '30': 1, '31': 1, '32': 1, '33': 1, '34': 1, '35': 1, '36': 1, '37': 1, '38': 1, "
	 "'39': 1, '40': 1, '41': 1, '42': 1, '43': 1, '44': 1, '45': 1, '46': 1, '47': 1, '48': 1}}, "
	 "{'ts': T(2024-01-01T00:02:00), 'rx': {'1': 2, '2': 2, '3': 2, '4': 2, '5': 2, '6': 2, '7': "
	 "2, '8': 2, '9': 2, '10': 2, '11': 2, '12': 2, '13': 2, '14': 2, '15': 2, '16': 2, '17': 2, "
	 "'18': 2, '19': 2, '20': 2, '21': 2, '22': 2, '23': 2, '24': 2}}",
	 "time ts time, slot key text, rx double field rx.{key}; -- keys 1 to 48 of rx.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time. They could also be seconds of a minute."},
	{"D2: settlement periods, one day with 50",
	 "{'ts': T(2024-01-01T00:00:00), 'sp': {'1': 0, '2': 0, '3': 0, '4': 0, '5': 0, '6': 0, '7': "
	 "0, '8': 0, '9': 0, '10': 0, '11': 0, '12': 0, '13': 0, '14': 0, '15': 0, '16': 0, '17': 0, "
	 "'18': 0, '19': 0, '20': 0, '21': 0, '22': 0, '23': 0, '24': 0, '25': 0, '26': 0, '27': 0, "
	 "'28': 0, '29': 0, '30': 0, '31': 0, '32': 0, '33': 0, '34': 0, '35': 0, '36': 0, '37': 0, "
	 "'38': 0, '39': 0, '40': 0, '41': 0, '42': 0, '43': 0, '44': 0, '45': 0, '46': 0, '47': 0, "
	 "'48': 0}}, {'ts': T(2024-01-02T00:00:00), 'sp': {'1': 1, '2': 1, '3': 1, '4': 1, '5': 1, "
	 "'6': 1, '7': 1, '8': 1, '9': 1, '10': 1, '11': 1, '12': 1, '13': 1, '14': 1, '15': 1, '16': "
	 "1, '17': 1, '18': 1, '19': 1, '20': 1, '21': 1, '22': 1, '23': 1, '24': 1, '25': 1, '26': "
	 "1, '27': 1, '28': 1, '29': 1, '30': 1, '31': 1, '32': 1, '33': 1, '34': 1, '35': 1, '36': "
	 "1, '37': 1, '38': 1, '39': 1, '40': 1, '41': 1, '42': 1, '43': 1, '44': 1, '45': 1, '46': "
	 "1, '47': 1, '48': 1, '49': 1, '50': 1}}, {'ts': T(2024-01-03T00:00:00), 'sp': {'1': 2, '2': "
	 "2, '3': 2, '4': 2, '5': 2, '6': 2, '7': 2, '8': 2, '9': 2, '10': 2, '11': 2, '12': 2, '13': "
	 "2, '14': 2, '15': 2, '16': 2, '17': 2, '18': 2, '19': 2, '20': 2, '21': 2, '22': 2, '23': "
	 "2, '24': 2, '25': 2, '26': 2, '27': 2, '28': 2, '29': 2, '30': 2, '31': 2, '32': 2, '33': "
	 "2, '34': 2, '35': 2, '36': 2, '37': 2, '38': 2, '39': 2, '40': 2, '41': 2, '42': 2, '43': "
	 "2, '44': 2, '45': 2, '46': 2, '47': 2, '48': 2}}",
	 "time ts time, slot key text, sp long field sp.{key}; -- keys 1 to 50 of sp.{key} are "
	 "assumed to be names, and are values of column \"key\"\nNothing shows that they count a unit "
	 "of time."},
	{"D3: the hierarchical report of the manual",
	 "{'date': T(2010-10-10T00:00:00), 'minute': {'0': {'0': 1, '59': 2}, '1': {'60': 3, '119': "
	 "4}, '23': {'1380': 5, '1439': 6}}}, {'date': T(2010-10-11T00:00:00), 'minute': {'0': {'0': "
	 "1, '59': 2}, '1': {'60': 3, '119': 4}, '23': {'1380': 5, '1439': 6}}}",
	 "time date time, attribute minute json; -- minute is declared as jsonb\nIts keys are "
	 "numbers, and nothing shows that they count a unit of time."},
	{"D4: two resolutions",
	 "{'res': 'minute', 't': T(2024-01-01T00:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': "
	 "'minute', 't': T(2024-01-01T01:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': 'hour', "
	 "'t': T(2024-01-01T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}, {'res': 'hour', 't': "
	 "T(2024-01-02T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}",
	 "res minute: time t time, res text, v double field v.{minute}; -- documents with different "
	 "res have different times, and are a table each\nOption \"filter\" selects 2 of the 4 "
	 "sampled documents. Documents with other values are in no table. -- keys 0 to 59 of "
	 "v.{minute} are assumed to be minutes of an hour\nThe keys reach both ends of their unit, "
	 "but do not fill it. They could also be seconds of a minute. || res hour: time t time, res "
	 "text, v double field v.{hour}; -- documents with different res have different times, and "
	 "are a table each\nOption \"filter\" selects 2 of the 4 sampled documents. Documents with "
	 "other values are in no table. -- keys 0 to 23 of v.{hour} are assumed to be hours of a "
	 "day\nThe keys reach both ends of their unit, but do not fill it."},
	{"D4: aggregates of several resolutions",
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T00:00:00), 'resolution': 'second'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T00:01:00), 'resolution': 'second'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T00:02:00), 'resolution': 'second'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T00:00:00), 'resolution': 'minute'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T01:00:00), 'resolution': 'minute'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T02:00:00), 'resolution': 'minute'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 10, 'samples': 1}, {'offset': 20, 'samples': 1}, "
	 "{'offset': 30, 'samples': 1}, {'offset': 40, 'samples': 1}, {'offset': 50, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-01T00:00:00), 'resolution': 'hour'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 4, 'samples': 1}, {'offset': 8, 'samples': 1}, "
	 "{'offset': 12, 'samples': 1}, {'offset': 16, 'samples': 1}, {'offset': 20, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-02T00:00:00), 'resolution': 'hour'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 4, 'samples': 1}, {'offset': 8, 'samples': 1}, "
	 "{'offset': 12, 'samples': 1}, {'offset': 16, 'samples': 1}, {'offset': 20, 'samples': 1}]}, "
	 "{'_id': {'a': 't', 'origin': T(2024-01-03T00:00:00), 'resolution': 'hour'}, 'points': "
	 "[{'offset': 0, 'samples': 1}, {'offset': 4, 'samples': 1}, {'offset': 8, 'samples': 1}, "
	 "{'offset': 12, 'samples': 1}, {'offset': 16, 'samples': 1}, {'offset': 20, 'samples': 1}]}",
	 "_id.resolution second: time offset time field points[].offset as offset:second, a text "
	 "field _id.a, resolution text field _id.resolution, samples double field points[].samples; "
	 "bucket _id.origin span 1 minute -- documents with different _id.resolution have different "
	 "times, and are a table each\nOption \"filter\" selects 3 of the 9 sampled documents. "
	 "Documents with other values are in no table. -- points[].offset is assumed to count seconds "
	 "since the bucket's time || _id.resolution minute: time offset time field points[].offset as "
	 "offset:minute, a text field _id.a, resolution text field _id.resolution, samples double "
	 "field points[].samples; bucket _id.origin span 1 hour -- documents with different "
	 "_id.resolution have different times, and are a table each\nOption \"filter\" selects 3 of "
	 "the 9 sampled documents. Documents with other values are in no table. -- points[].offset is "
	 "assumed to count minutes since the bucket's time || _id.resolution hour: time offset time "
	 "field points[].offset as offset:hour, a text field _id.a, resolution text field "
	 "_id.resolution, samples double field points[].samples; bucket _id.origin span 1 day -- "
	 "documents with different _id.resolution have different times, and are a table each\nOption "
	 "\"filter\" selects 3 of the 9 sampled documents. Documents with other values are in no "
	 "table. -- points[].offset is assumed to count hours since the bucket's time"},
	{"D8: candles as tuples",
	 "{'ts': T(2024-01-01T00:00:00), 'c': [[1.5, 2, 1, 1.5, 0], [1.5, 2, 1, 1.5, 1], [1.5, 2, 1, "
	 "1.5, 2], [1.5, 2, 1, 1.5, 3], [1.5, 2, 1, 1.5, 4], [1.5, 2, 1, 1.5, 5], [1.5, 2, 1, 1.5, "
	 "6], [1.5, 2, 1, 1.5, 7], [1.5, 2, 1, 1.5, 8], [1.5, 2, 1, 1.5, 9], [1.5, 2, 1, 1.5, 10], "
	 "[1.5, 2, 1, 1.5, 11], [1.5, 2, 1, 1.5, 12], [1.5, 2, 1, 1.5, 13], [1.5, 2, 1, 1.5, 14], "
	 "[1.5, 2, 1, 1.5, 15], [1.5, 2, 1, 1.5, 16], [1.5, 2, 1, 1.5, 17], [1.5, 2, 1, 1.5, 18], "
	 "[1.5, 2, 1, 1.5, 19], [1.5, 2, 1, 1.5, 20], [1.5, 2, 1, 1.5, 21], [1.5, 2, 1, 1.5, 22], "
	 "[1.5, 2, 1, 1.5, 23], [1.5, 2, 1, 1.5, 24], [1.5, 2, 1, 1.5, 25], [1.5, 2, 1, 1.5, 26], "
	 "[1.5, 2, 1, 1.5, 27], [1.5, 2, 1, 1.5, 28], [1.5, 2, 1, 1.5, 29], [1.5, 2, 1, 1.5, 30], "
	 "[1.5, 2, 1, 1.5, 31], [1.5, 2, 1, 1.5, 32], [1.5, 2, 1, 1.5, 33], [1.5, 2, 1, 1.5, 34], "
	 "[1.5, 2, 1, 1.5, 35], [1.5, 2, 1, 1.5, 36], [1.5, 2, 1, 1.5, 37], [1.5, 2, 1, 1.5, 38], "
	 "[1.5, 2, 1, 1.5, 39], [1.5, 2, 1, 1.5, 40], [1.5, 2, 1, 1.5, 41], [1.5, 2, 1, 1.5, 42], "
	 "[1.5, 2, 1, 1.5, 43], [1.5, 2, 1, 1.5, 44], [1.5, 2, 1, 1.5, 45], [1.5, 2, 1, 1.5, 46], "
	 "[1.5, 2, 1, 1.5, 47], [1.5, 2, 1, 1.5, 48], [1.5, 2, 1, 1.5, 49], [1.5, 2, 1, 1.5, 50], "
	 "[1.5, 2, 1, 1.5, 51], [1.5, 2, 1, 1.5, 52], [1.5, 2, 1, 1.5, 53], [1.5, 2, 1, 1.5, 54], "
	 "[1.5, 2, 1, 1.5, 55], [1.5, 2, 1, 1.5, 56], [1.5, 2, 1, 1.5, 57], [1.5, 2, 1, 1.5, 58], "
	 "[1.5, 2, 1, 1.5, 59]]}",
	 "time ts time, attribute c json; -- c is declared as jsonb\nIts elements are arrays of up to "
	 "5 values, which fill no unit of time."},
	{"D8: candles of a day as tuples with times",
	 "{'ts': T(2024-01-01T00:00:00), 'k': [[1704067200000, 1.5, 2, 1, 1.5, 0], [1704070800000, "
	 "1.5, 2, 1, 1.5, 1], [1704074400000, 1.5, 2, 1, 1.5, 2], [1704078000000, 1.5, 2, 1, 1.5, 3], "
	 "[1704081600000, 1.5, 2, 1, 1.5, 4], [1704085200000, 1.5, 2, 1, 1.5, 5], [1704088800000, "
	 "1.5, 2, 1, 1.5, 6], [1704092400000, 1.5, 2, 1, 1.5, 7], [1704096000000, 1.5, 2, 1, 1.5, 8], "
	 "[1704099600000, 1.5, 2, 1, 1.5, 9], [1704103200000, 1.5, 2, 1, 1.5, 10], [1704106800000, "
	 "1.5, 2, 1, 1.5, 11], [1704110400000, 1.5, 2, 1, 1.5, 12], [1704114000000, 1.5, 2, 1, 1.5, "
	 "13], [1704117600000, 1.5, 2, 1, 1.5, 14], [1704121200000, 1.5, 2, 1, 1.5, 15], "
	 "[1704124800000, 1.5, 2, 1, 1.5, 16], [1704128400000, 1.5, 2, 1, 1.5, 17], [1704132000000, "
	 "1.5, 2, 1, 1.5, 18], [1704135600000, 1.5, 2, 1, 1.5, 19], [1704139200000, 1.5, 2, 1, 1.5, "
	 "20], [1704142800000, 1.5, 2, 1, 1.5, 21], [1704146400000, 1.5, 2, 1, 1.5, 22], "
	 "[1704150000000, 1.5, 2, 1, 1.5, 23]]}, {'ts': T(2024-01-02T00:00:00), 'k': [[1704153600000, "
	 "1.5, 2, 1, 1.5, 0], [1704157200000, 1.5, 2, 1, 1.5, 1], [1704160800000, 1.5, 2, 1, 1.5, 2], "
	 "[1704164400000, 1.5, 2, 1, 1.5, 3], [1704168000000, 1.5, 2, 1, 1.5, 4], [1704171600000, "
	 "1.5, 2, 1, 1.5, 5], [1704175200000, 1.5, 2, 1, 1.5, 6], [1704178800000, 1.5, 2, 1, 1.5, 7], "
	 "[1704182400000, 1.5, 2, 1, 1.5, 8], [1704186000000, 1.5, 2, 1, 1.5, 9], [1704189600000, "
	 "1.5, 2, 1, 1.5, 10], [1704193200000, 1.5, 2, 1, 1.5, 11], [1704196800000, 1.5, 2, 1, 1.5, "
	 "12], [1704200400000, 1.5, 2, 1, 1.5, 13], [1704204000000, 1.5, 2, 1, 1.5, 14], "
	 "[1704207600000, 1.5, 2, 1, 1.5, 15], [1704211200000, 1.5, 2, 1, 1.5, 16], [1704214800000, "
	 "1.5, 2, 1, 1.5, 17], [1704218400000, 1.5, 2, 1, 1.5, 18], [1704222000000, 1.5, 2, 1, 1.5, "
	 "19], [1704225600000, 1.5, 2, 1, 1.5, 20], [1704229200000, 1.5, 2, 1, 1.5, 21], "
	 "[1704232800000, 1.5, 2, 1, 1.5, 22], [1704236400000, 1.5, 2, 1, 1.5, 23]]}",
	 "time ts time, attribute k json; -- k is declared as jsonb\nIts elements are arrays of up to "
	 "6 values, which fill no unit of time."},
	{"D9: load averages",
	 "{'ts': T(2024-01-01T00:00:00), 'load': [0.5, 0.25, 0]}, {'ts': T(2024-01-01T00:01:00), "
	 "'load': [0.5, 0.25, 1]}, {'ts': T(2024-01-01T00:02:00), 'load': [0.5, 0.25, 2]}, {'ts': "
	 "T(2024-01-01T00:03:00), 'load': [0.5, 0.25, 3]}",
	 "time ts time, attribute load double[];"},
	{"D9: phases and coordinates",
	 "{'ts': T(2024-01-01T00:00:00), 'volts': [230, 231, 229], 'xy': [1.5, 2]}, {'ts': "
	 "T(2024-01-01T01:00:00), 'volts': [230, 231, 230], 'xy': [1.5, 2]}, {'ts': "
	 "T(2024-01-01T02:00:00), 'volts': [230, 231, 231], 'xy': [1.5, 2]}, {'ts': "
	 "T(2024-01-01T03:00:00), 'volts': [230, 231, 232], 'xy': [1.5, 2]}",
	 "time ts time, attribute volts double[], attribute xy double[];"},
	{"D9: blood pressure",
	 "{'ts': T(2024-01-01T00:00:00), 'bp': [120, 80]}, {'ts': T(2024-01-02T00:00:00), 'bp': [120, "
	 "81]}, {'ts': T(2024-01-03T00:00:00), 'bp': [120, 82]}, {'ts': T(2024-01-04T00:00:00), 'bp': "
	 "[120, 83]}",
	 "time ts time, attribute bp double[];"},
	{"D10: 92 and 100 quarters",
	 "{'day': T(2024-01-01T00:00:00), 'kwh': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
	 "15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, "
	 "38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, "
	 "61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, "
	 "84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95]}, {'day': T(2024-01-02T00:00:00), 'kwh': "
	 "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
	 "25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, "
	 "48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, "
	 "71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, "
	 "94, 95, 96, 97, 98, 99]}",
	 "time day time, attribute kwh long[]; -- kwh is declared as an array\nIts up to 100 numbers "
	 "fill no unit of time. If the index counts a unit, give the column a type and a field such "
	 "as kwh[{minute}]."},
	{"D11: 24 half hours",
	 "{'ts': T(2024-01-01T00:00:00), 'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
	 "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}, {'ts': T(2024-01-02T00:00:00), "
	 "'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
	 "19, 20, 21, 22, 23]}",
	 "time ts time, step int, values double field values[{hour}]; -- elements of values[{hour}] "
	 "are assumed to count the parts of their bucket\nThey could also be 30 minutes apart, as "
	 "step is 1800 in all documents."},
	{"D11: times of the day",
	 "{'day': T(2024-01-01T00:00:00), 'dataset': [{'time': '00:00:00', 'value': 0}, {'time': "
	 "'00:00:01', 'value': 1}, {'time': '00:00:02', 'value': 2}]}, {'day': "
	 "T(2024-01-02T00:00:00), 'dataset': [{'time': '00:00:00', 'value': 0}, {'time': '00:00:01', "
	 "'value': 1}, {'time': '00:00:02', 'value': 2}]}",
	 "time day time, attribute dataset json; -- dataset is declared as jsonb\nIts elements are "
	 "documents without a time that agrees with a time of their document."},
	{"D11: names and labels",
	 "{'ts': T(2024-01-01T00:00:00), 'samples': [{'name': 'a', 'value': 1}, {'name': 'b', "
	 "'value': 2}]}, {'ts': T(2024-01-02T00:00:00), 'samples': [{'name': 'a', 'value': 1}, "
	 "{'name': 'b', 'value': 2}]}",
	 "time ts time, attribute samples json; -- samples is declared as jsonb\nIts elements are "
	 "documents without a time that agrees with a time of their document."},
	{"D11: dotted and American dates",
	 "{'a': '01.03.2024', 'b': '3/1/2024', 'v': 1}, {'a': '02.03.2024', 'b': '3/2/2024', 'v': 2}",
	 "a text, b text, v double; -- a looks like a time, but has no known pattern\nIf it is a "
	 "time, give the column a time type, and set its option \"format\" to text: with a pattern of "
	 "to_char. -- b looks like a time, but has no known pattern\nIf it is a time, give the column "
	 "a time type, and set its option \"format\" to text: with a pattern of to_char."},
	{"D11: offsets of RFC 3339, and a number as a date",
	 "{'a': '2024-03-04T08:00:00+02:00', 'b': '2024-03-04T08:00:00.123456789Z', 'd': 20240131}",
	 "a text, b text, d double; -- a looks like a time, but has no known pattern\nIf it is a "
	 "time, give the column a time type, and set its option \"format\" to text: with a pattern of "
	 "to_char. -- b looks like a time, but has no known pattern\nIf it is a time, give the column "
	 "a time type, and set its option \"format\" to text: with a pattern of to_char."},
	{"D11: positions with gaps",
	 "{'ts': T(2024-01-01T00:00:00), 'points': [{'position': 1, 'quantity': 1.5}, {'position': 2, "
	 "'quantity': 1.5}, {'position': 5, 'quantity': 1.5}, {'position': 9, 'quantity': 1.5}]}, "
	 "{'ts': T(2024-01-02T00:00:00), 'points': [{'position': 1, 'quantity': 1.5}, {'position': 2, "
	 "'quantity': 1.5}, {'position': 5, 'quantity': 1.5}, {'position': 9, 'quantity': 1.5}]}",
	 "time ts time, attribute points json; -- points is declared as jsonb\nIts elements are "
	 "documents without a time that agrees with a time of their document."},
	{"D11: a native collection of buckets",
	 "{'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': T(2024-01-01T00:00:00), 'm': 1, 'v': "
	 "{'0': 1, '59': 2}}, {'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': "
	 "T(2024-01-01T00:01:00), 'm': 1, 'v': {'0': 1, '59': 2}}",
	 "time ts time, m int, attribute v json; -- v is declared as jsonb\nIts keys are numbers, and "
	 "nothing shows that they count a unit of time.", "ts", "m"},
	{"an empty native collection",
	 "",
	 "time ts time, me.ta json field me\\.ta; -- there are no documents to infer columns from", "ts", "me.ta"},
	{"6: keys padded",
	 "{'ts': T(2024-01-01T00:00:00), 'v': {'00': 0, '01': 1, '02': 2, '03': 3, '04': 4, '05': 5, "
	 "'06': 6, '07': 7, '08': 8, '09': 9, '10': 10, '11': 11, '12': 12, '13': 13, '14': 14, '15': "
	 "15, '16': 16, '17': 17, '18': 18, '19': 19, '20': 20, '21': 21, '22': 22, '23': 23}}, "
	 "{'ts': T(2024-01-02T00:00:00), 'v': {'00': 0, '01': 1, '02': 2, '03': 3, '04': 4, '05': 5, "
	 "'06': 6, '07': 7, '08': 8, '09': 9, '10': 10, '11': 11, '12': 12, '13': 13, '14': 14, '15': "
	 "15, '16': 16, '17': 17, '18': 18, '19': 19, '20': 20, '21': 21, '22': 22, '23': 23}}",
	 "time ts time, attribute v json; -- v is declared as jsonb\nIt has keys such as 07, which "
	 "cannot be slots."},
	{"6: hours 1 to 24",
	 "{'ts': T(2024-01-01T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': "
	 "7, '8': 8, '9': 9, '10': 10, '11': 11, '12': 12, '13': 13, '14': 14, '15': 15, '16': 16, "
	 "'17': 17, '18': 18, '19': 19, '20': 20, '21': 21, '22': 22, '23': 23, '24': 24}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': 7, '8': "
	 "8, '9': 9, '10': 10, '11': 11, '12': 12, '13': 13, '14': 14, '15': 15, '16': 16, '17': 17, "
	 "'18': 18, '19': 19, '20': 20, '21': 21, '22': 22, '23': 23, '24': 24}}",
	 "time ts time, v double field v.{hour:1};"},
	{"6: months 0 to 11",
	 "{'y': T(2020-01-01T00:00:00), 'v': {'0': 0, '1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, "
	 "'7': 7, '8': 8, '9': 9, '10': 10, '11': 11}}, {'y': T(2021-01-01T00:00:00), 'v': {'0': 0, "
	 "'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': 7, '8': 8, '9': 9, '10': 10, '11': "
	 "11}}, {'y': T(2022-01-01T00:00:00), 'v': {'0': 0, '1': 1, '2': 2, '3': 3, '4': 4, '5': 5, "
	 "'6': 6, '7': 7, '8': 8, '9': 9, '10': 10, '11': 11}}",
	 "time y time, v double field v.{month};"},
	{"6: weeks of 1 to 7",
	 "{'w': T(2024-01-01T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': "
	 "7}}, {'w': T(2024-01-08T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, "
	 "'7': 7}}, {'w': T(2024-01-15T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': "
	 "6, '7': 7}}, {'w': T(2024-01-22T00:00:00), 'v': {'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, "
	 "'6': 6, '7': 7}}",
	 "time w time, v double field v.{day:1}; span 7 days readonly -- keys 1 to 7 of v.{day:1} are "
	 "assumed to be days of 7 days\nBucket times are that far apart. -- w does not hold multiples "
	 "of the span of the buckets\nThe table is read-only, because an INSERT would begin buckets "
	 "at such multiples."},
	{"6: hours as documents",
	 "{'ts': T(2024-01-01T00:00:00), 'hourly': [{'h': 0, 'temp': 0.0}, {'h': 1, 'temp': 0.5}, "
	 "{'h': 2, 'temp': 1.0}, {'h': 3, 'temp': 1.5}, {'h': 4, 'temp': 2.0}, {'h': 5, 'temp': 2.5}, "
	 "{'h': 6, 'temp': 3.0}, {'h': 7, 'temp': 3.5}, {'h': 8, 'temp': 4.0}, {'h': 9, 'temp': 4.5}, "
	 "{'h': 10, 'temp': 5.0}, {'h': 11, 'temp': 5.5}, {'h': 12, 'temp': 6.0}, {'h': 13, 'temp': "
	 "6.5}, {'h': 14, 'temp': 7.0}, {'h': 15, 'temp': 7.5}, {'h': 16, 'temp': 8.0}, {'h': 17, "
	 "'temp': 8.5}, {'h': 18, 'temp': 9.0}, {'h': 19, 'temp': 9.5}, {'h': 20, 'temp': 10.0}, "
	 "{'h': 21, 'temp': 10.5}, {'h': 22, 'temp': 11.0}, {'h': 23, 'temp': 11.5}]}, {'ts': "
	 "T(2024-01-02T00:00:00), 'hourly': [{'h': 0, 'temp': 0.0}, {'h': 1, 'temp': 0.5}, {'h': 2, "
	 "'temp': 1.0}, {'h': 3, 'temp': 1.5}, {'h': 4, 'temp': 2.0}, {'h': 5, 'temp': 2.5}, {'h': 6, "
	 "'temp': 3.0}, {'h': 7, 'temp': 3.5}, {'h': 8, 'temp': 4.0}, {'h': 9, 'temp': 4.5}, {'h': "
	 "10, 'temp': 5.0}, {'h': 11, 'temp': 5.5}, {'h': 12, 'temp': 6.0}, {'h': 13, 'temp': 6.5}, "
	 "{'h': 14, 'temp': 7.0}, {'h': 15, 'temp': 7.5}, {'h': 16, 'temp': 8.0}, {'h': 17, 'temp': "
	 "8.5}, {'h': 18, 'temp': 9.0}, {'h': 19, 'temp': 9.5}, {'h': 20, 'temp': 10.0}, {'h': 21, "
	 "'temp': 10.5}, {'h': 22, 'temp': 11.0}, {'h': 23, 'temp': 11.5}]}, {'ts': "
	 "T(2024-01-03T00:00:00), 'hourly': [{'h': 0, 'temp': 0.0}, {'h': 1, 'temp': 0.5}, {'h': 2, "
	 "'temp': 1.0}, {'h': 3, 'temp': 1.5}, {'h': 4, 'temp': 2.0}, {'h': 5, 'temp': 2.5}, {'h': 6, "
	 "'temp': 3.0}, {'h': 7, 'temp': 3.5}, {'h': 8, 'temp': 4.0}, {'h': 9, 'temp': 4.5}, {'h': "
	 "10, 'temp': 5.0}, {'h': 11, 'temp': 5.5}, {'h': 12, 'temp': 6.0}, {'h': 13, 'temp': 6.5}, "
	 "{'h': 14, 'temp': 7.0}, {'h': 15, 'temp': 7.5}, {'h': 16, 'temp': 8.0}, {'h': 17, 'temp': "
	 "8.5}, {'h': 18, 'temp': 9.0}, {'h': 19, 'temp': 9.5}, {'h': 20, 'temp': 10.0}, {'h': 21, "
	 "'temp': 10.5}, {'h': 22, 'temp': 11.0}, {'h': 23, 'temp': 11.5}]}",
	 "time h time field hourly[].h as offset:hour, temp double field hourly[].temp; bucket ts "
	 "span 1 day -- hourly[].h is assumed to count hours since the bucket's time"},
	{"6: levels and codes of sparse minutes",
	 "{'ts': T(2024-01-01T00:00:00), 'counts': {'info': {'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, "
	 "'5': 1, '6': 1, '7': 1, '8': 1, '9': 1, '10': 1, '11': 1, '12': 1, '13': 1, '14': 1, '15': "
	 "1, '16': 1, '17': 1, '18': 1, '19': 1, '20': 1, '21': 1, '22': 1, '23': 1, '24': 1, '25': "
	 "1, '26': 1, '27': 1, '28': 1, '29': 1, '30': 1, '31': 1, '32': 1, '33': 1, '34': 1, '35': "
	 "1, '36': 1, '37': 1, '38': 1, '39': 1, '40': 1, '41': 1, '42': 1, '43': 1, '44': 1, '45': "
	 "1, '46': 1, '47': 1, '48': 1, '49': 1, '50': 1, '51': 1, '52': 1, '53': 1, '54': 1, '55': "
	 "1, '56': 1, '57': 1, '58': 1, '59': 1}, 'error': {'7': 1}}}, {'ts': T(2024-01-01T01:00:00), "
	 "'counts': {'info': {'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, "
	 "'9': 1, '10': 1, '11': 1, '12': 1, '13': 1, '14': 1, '15': 1, '16': 1, '17': 1, '18': 1, "
	 "'19': 1, '20': 1, '21': 1, '22': 1, '23': 1, '24': 1, '25': 1, '26': 1, '27': 1, '28': 1, "
	 "'29': 1, '30': 1, '31': 1, '32': 1, '33': 1, '34': 1, '35': 1, '36': 1, '37': 1, '38': 1, "
	 "'39': 1, '40': 1, '41': 1, '42': 1, '43': 1, '44': 1, '45': 1, '46': 1, '47': 1, '48': 1, "
	 "'49': 1, '50': 1, '51': 1, '52': 1, '53': 1, '54': 1, '55': 1, '56': 1, '57': 1, '58': 1, "
	 "'59': 1}, 'error': {'7': 1}}}",
	 "time ts time, info long field counts.info.{minute}, error double field "
	 "counts.error.{minute}; -- keys 0 to 59 of counts.info.{minute} are assumed to be minutes of "
	 "an hour\nFew bucket times were sampled. They could also be seconds of a minute."},
	{"6: status codes inside of hours",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'0': {'200': 1, '404': 2}, '1': {'200': 1, '404': 2}, "
	 "'2': {'200': 1, '404': 2}, '3': {'200': 1, '404': 2}, '4': {'200': 1, '404': 2}, '5': "
	 "{'200': 1, '404': 2}, '6': {'200': 1, '404': 2}, '7': {'200': 1, '404': 2}, '8': {'200': 1, "
	 "'404': 2}, '9': {'200': 1, '404': 2}, '10': {'200': 1, '404': 2}, '11': {'200': 1, '404': "
	 "2}, '12': {'200': 1, '404': 2}, '13': {'200': 1, '404': 2}, '14': {'200': 1, '404': 2}, "
	 "'15': {'200': 1, '404': 2}, '16': {'200': 1, '404': 2}, '17': {'200': 1, '404': 2}, '18': "
	 "{'200': 1, '404': 2}, '19': {'200': 1, '404': 2}, '20': {'200': 1, '404': 2}, '21': {'200': "
	 "1, '404': 2}, '22': {'200': 1, '404': 2}, '23': {'200': 1, '404': 2}}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'0': {'200': 1, '404': 2}, '1': {'200': 1, '404': 2}, '2': "
	 "{'200': 1, '404': 2}, '3': {'200': 1, '404': 2}, '4': {'200': 1, '404': 2}, '5': {'200': 1, "
	 "'404': 2}, '6': {'200': 1, '404': 2}, '7': {'200': 1, '404': 2}, '8': {'200': 1, '404': 2}, "
	 "'9': {'200': 1, '404': 2}, '10': {'200': 1, '404': 2}, '11': {'200': 1, '404': 2}, '12': "
	 "{'200': 1, '404': 2}, '13': {'200': 1, '404': 2}, '14': {'200': 1, '404': 2}, '15': {'200': "
	 "1, '404': 2}, '16': {'200': 1, '404': 2}, '17': {'200': 1, '404': 2}, '18': {'200': 1, "
	 "'404': 2}, '19': {'200': 1, '404': 2}, '20': {'200': 1, '404': 2}, '21': {'200': 1, '404': "
	 "2}, '22': {'200': 1, '404': 2}, '23': {'200': 1, '404': 2}}}",
	 "time ts time, n json field n.{hour}; -- n.{hour} is declared as jsonb\nIts keys are "
	 "numbers, and nothing shows that they count a unit of time."},
	{"a field whose values allow the same slots makes no groups",
	 "{'site': 'a', 'ts': T(2024-01-01T00:01:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': "
	 "20, '25': 25, '30': 30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'a', "
	 "'ts': T(2024-01-01T01:08:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, "
	 "'30': 30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'a', 'ts': "
	 "T(2024-01-01T02:15:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'b', 'ts': "
	 "T(2024-01-01T00:00:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'b', 'ts': "
	 "T(2024-01-01T01:00:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}",
	 "time ts time, site text, v double field v.{second};"},
