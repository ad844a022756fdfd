/*
 * import.h
 *		The callback of IMPORT FOREIGN SCHEMA, and what its files share.
 */
#ifndef MTS_IMPORT_H
#define MTS_IMPORT_H

#include "postgres.h"
#include "nodes/parsenodes.h"

#include "core/infer/infer.h"
#include "driver/remote.h"

#define MTS_DEFAULT_SAMPLE_SIZE 100

/* A collection as the server lists it; its names are UTF-8 but for `name` */
typedef struct MtsImported
{
	char *name;    /* in the server's encoding */
	bool is_plain; /* neither a view nor a time-series collection */
	bool is_view;
	const char *time; /* of a time-series collection, its fields, or NULL */
	const char *meta;
} MtsImported;

extern List *mtsImportForeignSchema(ImportForeignSchemaStmt *stmt,
									Oid serverid);

/* import_sample.c */
extern List *mts_import_collections(MtsConnection *connection,
									const char *database);
extern MtsSample *mts_import_samples(MtsConnection *connection,
									 const char *database,
									 const MtsImported *collection,
									 int sample_size, int *nsamples);

/* import_family.c */
extern void mts_import_families(List *names);

/* import_advice.c */
extern char *mts_import_advice(const MtsInferred *inferred, int remark,
							   bool is_view, const char *schema,
							   const char *table);

/* import_table.c */
extern char *mts_import_escape(const char *name);
extern char *mts_import_table(const MtsInferred *inferred, const char *table,
							  const char *server, const char *database,
							  const char *zone, const MtsImported *collection,
							  bool updatable);

#endif /* MTS_IMPORT_H */
