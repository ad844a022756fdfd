/*
 * cursor.h
 *		Cursors over documents, and over the collections of a database.
 */
#ifndef MTS_CURSOR_H
#define MTS_CURSOR_H

#include "driver/find.h"

typedef struct MtsCursor MtsCursor;

/* The factor by which batches grow that begin small */
#define MTS_BATCH_GROWTH 4

extern MtsCursor *mts_cursor_find(MtsConnection *connection,
								  const char *database, const char *collection,
								  const MtsFind *find);
extern MtsCursor *mts_cursor_collections(MtsConnection *connection,
										 const char *database);
extern const bson_t *mts_cursor_next(MtsCursor *cursor);
extern bool mts_cursor_is_refused(const MtsCursor *cursor);
extern bool mts_cursor_must_wait(MtsCursor *cursor);
extern void mts_cursor_wait_any(List *cursors);
extern void mts_cursor_close(MtsCursor *cursor);
extern const bson_t *mts_cursor_first(MtsConnection *connection,
									  const char *database,
									  const char *collection,
									  const MtsFind *find);
extern List *mts_cursor_list_names(MtsConnection *connection,
								   const char *database, const bson_t *filter);
extern bool mts_cursor_try_list_names(MtsConnection *connection,
									  const char *database,
									  const bson_t *filter, List **names);

#endif /* MTS_CURSOR_H */
