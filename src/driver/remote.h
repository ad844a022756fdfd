/*
 * remote.h
 *		Talk to MongoDB: commands and cursors, with interrupts.
 */
#ifndef MTS_REMOTE_H
#define MTS_REMOTE_H

#include "driver/attempt.h"

typedef struct MtsCursorState MtsCursorState;

/* By how much batches grow that begin small */
#define MTS_BATCH_GROWTH 4

/* What a find command asks for */
typedef struct MtsFind
{
	const bson_t *filter;
	const bson_t *projection; /* NULL: whole documents */
	const bson_t *sort;       /* NULL or empty: in any order */
	int first_batch;          /* documents of the first batch */
	int fetch_size;           /* of later ones, when they have grown */
	int limit;                /* 0: all */
	bool on_primary;          /* whatever the read preference of the uri is */
	int64 *round_trips;       /* counts those of the cursor; may be NULL */
} MtsFind;

/* How a command may run and end */
typedef enum MtsRunMode
{
	MTS_RUN_ONCE,   /* it must not be sent twice */
	MTS_RUN_REPEAT, /* it may, when an election interrupts it */
	MTS_RUN_TRY     /* so may this one, and the server may refuse it */
} MtsRunMode;

extern MtsCursorState *mts_remote_find(MtsConnection *connection,
									   const char *database,
									   const char *collection,
									   const MtsFind *find);
extern MtsCursorState *
mts_remote_aggregate(MtsConnection *connection, const char *database,
					 const char *collection, const bson_t *stages,
					 int fetch_size, int64 *round_trips);
extern MtsCursorState *mts_remote_collections(MtsConnection *connection,
											  const char *database,
											  const bson_t *filter,
											  bool names_only);
extern bool mts_remote_list(MtsConnection *connection, const char *database,
							const bson_t *filter, bool may_fail, List **names);
extern const bson_t *mts_remote_next(MtsCursorState *cursor);
extern void mts_remote_close(MtsCursorState *cursor);
extern const bson_t *mts_remote_first(MtsConnection *connection,
									  const char *database,
									  const char *collection,
									  const MtsFind *find);
extern bool mts_remote_is_lost(const MtsConnection *connection,
							   const bson_error_t *error);
extern bson_error_t mts_remote_explain(const MtsConnection *connection,
									   const bson_error_t *error);
extern _Noreturn void mts_remote_raise(MtsConnection *connection,
									   const char *what,
									   const bson_error_t *error);
extern char *mts_remote_reading(const char *database, const char *collection);
extern bool mts_remote_send(const MtsAttempt *attempt, const char *database,
							const bson_t *command,
							mongoc_client_session_t *session,
							const bson_t **reply, bson_error_t *error);
extern const bson_t *mts_remote_run(MtsAttempt *attempt, const char *database,
									const bson_t *command,
									bson_error_t *error);
extern const bson_t *mts_remote_command(MtsConnection *connection,
										const char *database, const char *what,
										const bson_t *command,
										MtsRunMode mode);
extern double mts_remote_count(MtsConnection *connection, const char *database,
							   const char *collection, const bson_t *filter);
extern bool mts_remote_try_count(MtsConnection *connection,
								 const char *database, const char *collection,
								 double *count);

#endif /* MTS_REMOTE_H */
