/*
 * launcher.h
 *		The background worker that starts those that refresh roll-ups.
 */
#ifndef MTS_LAUNCHER_H
#define MTS_LAUNCHER_H

#include "postgres.h"

extern void mts_launcher_init(void);
extern PGDLLEXPORT void mts_launcher_main(Datum arg);

#endif /* MTS_LAUNCHER_H */
