/*
 * remote_private.h
 *		A cursor as the files that open and close it see it.
 */
#ifndef MTS_REMOTE_PRIVATE_H
#define MTS_REMOTE_PRIVATE_H

#include "remote.h"

struct MtsCursorState
{
	MemoryContextCallback closing;
	MtsConnection *connection;
	char *database;
	mongoc_collection_t *collection; /* NULL: it is closed */
	mongoc_cursor_t *cursor;
	mongoc_client_session_t *session; /* of a cursor that a command made */
	char *what;                       /* the message of its errors */
	MtsAttempt attempt;               /* to get the first document */
	bson_t *filter;                   /* of a find, and its options */
	bson_t *opts;
	bool has_begun; /* it has given a document, or cannot begin anew */
	int batch;      /* documents of the current batch, at most */
	int left;       /* so many of them have not been read */
	int fetch_size; /* documents of a batch, when these have grown */
};

extern void mts_remote_track(MtsCursorState *state);

#endif /* MTS_REMOTE_PRIVATE_H */
