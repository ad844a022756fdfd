/*
 * attempt.h
 *		Select the server of a call, and say whether a failed call can be repeated.
 */
#ifndef MTS_ATTEMPT_H
#define MTS_ATTEMPT_H

#include "driver/connection.h"

/* The server that a call goes to */
typedef struct MtsServer
{
	uint32 id;
	bool is_mongodb;     /* and not a server that only speaks its protocol */
	bool is_secondary;   /* of a replica set, when it was last asked */
	bool is_replicated;  /* a member of a replica set, or a mongos */
	bool retries_writes; /* it recognises a write that it has done */
} MtsServer;

/* A call of libmongoc's that may be sent several times */
typedef struct MtsAttempt
{
	MtsConnection *connection;
	const char *what;   /* the message of its errors */
	bool on_primary;    /* whatever the read preference of the uri is */
	bool is_repeatable; /* sent twice it has the same effect */
	int64 expires;      /* when it is given up, monotonic microseconds */
	int64 deadline;     /* of the wait for each answer, likewise; 0: none */
	bool is_of_write;   /* it is a write, or one depends on it */
	bool has_failed;    /* it has been sent without success */
	bool was_hasty;     /* the last scan gave members less than their time */
	int64 patience;     /* of the next scan of the members; see MtsWait */
	MtsServer server;   /* that was selected last */
} MtsAttempt;

extern MtsAttempt mts_attempt_begin(MtsConnection *connection,
									const char *what, bool on_primary,
									bool is_repeatable);
extern void mts_attempt_hurry(MtsAttempt *attempt, int64 usecs);
extern void mts_attempt_server(MtsAttempt *attempt);
extern bool mts_attempt_try_server(MtsAttempt *attempt, bson_error_t *error);
extern bool mts_attempt_again(MtsAttempt *attempt, const bson_error_t *error);
extern bool mts_attempt_is_election(uint32 code);
extern void mts_attempt_sleep(long msecs);
extern void mts_attempt_append_collation(const MtsAttempt *attempt,
										 bson_t *doc);

#endif /* MTS_ATTEMPT_H */
