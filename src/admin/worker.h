/*
 * worker.h
 *		The background workers that refresh roll-ups.
 */
#ifndef MTS_WORKER_H
#define MTS_WORKER_H

#include "postgres.h"

extern PGDLLEXPORT void mts_worker_main(Datum arg);

#endif /* MTS_WORKER_H */
