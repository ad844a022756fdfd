/*
 * option.h
 *		The options of servers, user mappings, tables and columns.
 */
#ifndef MTS_OPTION_H
#define MTS_OPTION_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "core/layout/path.h"

typedef enum MtsOnInvalid
{
	MTS_INVALID_ERROR,
	MTS_INVALID_SKIP
} MtsOnInvalid;

/* Which writes are one transaction of MongoDB */
typedef enum MtsTransactions
{
	MTS_TRANSACTIONS_AUTO,     /* those of PostgreSQL's transaction, if the
								* server has transactions */
	MTS_TRANSACTIONS_REQUIRED, /* those, otherwise it is an error */
	MTS_TRANSACTIONS_BATCH,    /* each bulk write */
	MTS_TRANSACTIONS_OFF       /* none */
} MtsTransactions;

#define MTS_DEFAULT_FETCH_SIZE 4000
#define MTS_DEFAULT_BATCH_SIZE 30000

extern MtsTransactions mts_option_get_transactions(List *options);
extern void mts_option_check_import(List *options);
extern const char *mts_option_get(List *options, const char *name);
extern const char *mts_option_database(List *options);
extern bool mts_option_get_bool(List *options, const char *name,
								bool default_value);
extern int mts_option_get_int(List *options, const char *name,
							  int default_value);
extern MtsSpan mts_option_span(const char *text);
extern bool mts_option_describes_rows(const char *name);
extern bool mts_option_is_similar(const char *misspelt, const char *name,
								  int *distance);
extern const char *mts_option_unknown(List *list, Oid catalog,
									  const char **hint);

#endif /* MTS_OPTION_H */
