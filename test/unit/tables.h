/*
 * tables.h
 *		Declares the documented layouts, and clocks for tests of them.
 */
#ifndef TABLES_H
#define TABLES_H

#include "core/layout/layout.h"

#define TABLE_COLUMNS 5
#define TABLE_TEXT 2048 /* for the names of a table's paths */

typedef struct TestColumn
{
	const char *name;
	const char *field; /* the name if NULL */
	MtsRole role;
	const char *format;  /* of a time; "date" if NULL */
	const char *missing; /* a number, "null", or NULL */
} TestColumn;

/* A user's declaration; options that are not set are NULL */
typedef struct TestSpec
{
	const char *name;
	TestColumn columns[TABLE_COLUMNS];
	const char *bucket_time_field;
	const char *bucket_time_format;
	const char *first_field;
	const char *last_field;
	const char *span;
	const char *grain; /* random bucket times are multiples of it */
} TestSpec;

typedef struct TestTable
{
	const TestSpec *spec;
	MtsLayout layout;
	MtsSpan grain;
	MtsColumn columns[TABLE_COLUMNS];
	MtsContainer containers[TABLE_COLUMNS];
	char text[TABLE_TEXT];
} TestTable;

/* A zone with summer time, one hour ahead, from `from` until `to` */
typedef struct TestZone
{
	MtsTime from;
	MtsTime to;
} TestZone;

extern const TestSpec table_specs[];
extern const int table_nspecs;

extern bool table_declare(const TestSpec *spec, TestTable *table,
						  MtsError *error);
extern void table_point_columns(const TestTable *table, bool *wanted);
extern void table_open(int i, TestTable *table);
extern MtsClock table_clock(const TestZone *zone);
extern MtsTime table_time(int year, int month, int day, int hour, int minute,
						  int second);
extern void table_show_time(MtsTime t, char *text, size_t size);

#endif /* TABLES_H */
