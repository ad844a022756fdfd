/*
 * transition.c
 *		Advance aggregates by PostgreSQL's own transition functions.
 *
 * What comes out is a partial state, which PostgreSQL's Agg node combines and
 * finishes: results, types, NULLs and errors are its own.  Transition
 * functions ask in whose memory the state lives, and take a window's
 * aggregate for an answer.
 */
#include "agg/transition.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "parser/parse_agg.h"
#include "utils/builtins.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static FunctionCallInfo
prepare_call(FmgrInfo *function, Oid oid, Oid collation, int nargs,
			 WindowAggState *context)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(nargs));

	fmgr_info(oid, function);
	InitFunctionCallInfoData(*call, function, nargs, collation,
							 (Node *) context, NULL);
	return call;
}

/* Read the initial state, a text in the catalog. */
static void
read_initial(MtsTransition *aggregate, HeapTuple tuple, Oid type)
{
	Datum value =
		SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval,
						&aggregate->is_null);
	Oid input, ioparam;

	if (aggregate->is_null)
		return;
	getTypeInputInfo(type, &input, &ioparam);
	aggregate->initial =
		OidInputFunctionCall(input, TextDatumGetCString(value), ioparam, -1);
}

/* Let a polymorphic transition function know its arguments' types. */
static void
set_expression(MtsTransition *aggregate, const Aggref *aggref, Oid function)
{
	Oid types[FUNC_MAX_ARGS];
	int n = get_aggregate_argtypes((Aggref *) aggref, types);
	Expr *expr;

	build_aggregate_transfn_expr(types, n, 0, false, aggref->aggtranstype,
								 aggref->inputcollid, function, InvalidOid,
								 &expr, NULL);
	fmgr_info_set_expr((Node *) expr, &aggregate->function);
}

/*
 * mts_transition_init
 *		Look up an aggregate's functions.
 *
 * Its arguments and filters are the caller's to fill in.
 */
void
mts_transition_init(MtsTransition *aggregate, const Aggref *aggref)
{
	HeapTuple tuple =
		SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	aggregate->context = makeNode(WindowAggState);
	aggregate->narguments = list_length(aggref->args);
	aggregate->arguments =
		palloc0(aggregate->narguments * sizeof(MtsArgument));
	aggregate->oid = aggref->aggfnoid;
	aggregate->transition_oid = form->aggtransfn;
	aggregate->transition =
		prepare_call(&aggregate->function, form->aggtransfn,
					 aggref->inputcollid, aggregate->narguments + 1,
					 aggregate->context);
	aggregate->combine =
		prepare_call(&aggregate->combiner, form->aggcombinefn,
					 aggref->inputcollid, 2, aggregate->context);
	if (aggref->aggtranstype == INTERNALOID)
		aggregate->serialize =
			prepare_call(&aggregate->serializer, form->aggserialfn, InvalidOid,
						 1, aggregate->context);
	get_typlenbyval(aggref->aggtranstype, &aggregate->typlen,
					&aggregate->typbyval);
	read_initial(aggregate, tuple, aggref->aggtranstype);
	set_expression(aggregate, aggref, form->aggtransfn);
	ReleaseSysCache(tuple);
}

/* Begin with a group. */
void
mts_transition_begin(const MtsTransition *aggregate, MtsState *state,
					 MemoryContext memory)
{
	MemoryContext old = MemoryContextSwitchTo(memory);

	state->is_null = state->is_empty = aggregate->is_null;
	state->value = (Datum) 0;
	if (!aggregate->is_null)
		state->value = datumCopy(aggregate->initial, aggregate->typbyval,
								 aggregate->typlen);
	MemoryContextSwitchTo(old);
}

/* Make a new state the group's own, in place of the last. */
static void
keep_state(const MtsTransition *aggregate, MtsState *state, Datum value,
		   bool isnull, MemoryContext memory)
{
	if (!aggregate->typbyval &&
		DatumGetPointer(value) != DatumGetPointer(state->value))
	{
		MemoryContext old = MemoryContextSwitchTo(memory);

		if (!isnull)
			value = datumCopy(value, aggregate->typbyval, aggregate->typlen);
		if (!state->is_null)
			pfree(DatumGetPointer(state->value));
		MemoryContextSwitchTo(old);
	}
	state->value = value;
	state->is_null = isnull;
}

/* Is an argument of the call null? */
static bool
has_null(const FunctionCallInfoBaseData *call)
{
	for (int i = 1; i < call->nargs; i++)
		if (call->args[i].isnull)
			return true;
	return false;
}

/* Call a function that makes a new state of the state and other arguments. */
static void
change_state(MtsTransition *aggregate, FunctionCallInfo call, MtsState *state,
			 MemoryContext memory)
{
	Datum result;

	if (call->flinfo->fn_strict)
	{
		if (has_null(call))
			return;
		if (state->is_empty)
		{
			/* the first value is the state, which has its type */
			state->is_empty = false;
			keep_state(aggregate, state, call->args[1].value, false, memory);
			return;
		}
		if (state->is_null)
			return;
	}
	call->args[0].value = state->value;
	call->args[0].isnull = state->is_null;
	call->isnull = false;
	aggregate->context->curaggcontext = memory;
	result = FunctionCallInvoke(call);
	keep_state(aggregate, state, result, call->isnull, memory);
}

/*
 * mts_transition_advance
 *		Take a point, whose arguments are in the call for the transition.
 *
 * The current memory context is the point's.
 */
void
mts_transition_advance(MtsTransition *aggregate, MtsState *state,
					   MemoryContext memory)
{
	change_state(aggregate, aggregate->transition, state, memory);
}

/*
 * mts_transition_combine
 *		Combine the state with another one, of other points.
 */
void
mts_transition_combine(MtsTransition *aggregate, MtsState *state, Datum value,
					   MemoryContext memory)
{
	/* a transition function that isn't strict doesn't tell */
	state->is_empty = state->is_null;
	aggregate->combine->args[1].value = value;
	aggregate->combine->args[1].isnull = false;
	change_state(aggregate, aggregate->combine, state, memory);
}

/* Take one double. */
static void
advance_double(MtsTransition *aggregate, MtsState *state, double value,
			   MemoryContext memory)
{
	if (aggregate->narguments > 0)
	{
		aggregate->transition->args[1].value = Float8GetDatum(value);
		aggregate->transition->args[1].isnull = false;
	}
	mts_transition_advance(aggregate, state, memory);
}

/* {count, sum, sum of squared differences}, by Youngs and Cramer */
static void
accumulate(double *state, const double *values, int n)
{
	double count = state[0], sum = state[1], squares = state[2];

	for (int i = 0; i < n; i++)
	{
		double value = values[i];
		double before = count, sum_before = sum, difference;

		count += 1.0;
		sum += value;
		if (before > 0.0)
		{
			difference = value * count - sum;
			squares += difference * difference / (count * before);
			if (unlikely(isinf(sum) || isinf(squares)))
			{
				if (!isinf(sum_before) && !isinf(value))
					float_overflow_error();
				squares = get_float8_nan();
			}
		}
		else if (unlikely(isnan(value) || isinf(value)))
			squares = get_float8_nan();
	}
	state[0] = count;
	state[1] = sum;
	state[2] = squares;
}

/*
 * mts_transition_advance_doubles
 *		Take the values of many points, none of them null.
 *
 * What the most common transition functions would do is done here, in one
 * loop; the others are called.
 */
void
mts_transition_advance_doubles(MtsTransition *aggregate, MtsState *state,
							   const double *values, int n,
							   MemoryContext memory)
{
	int i = 0;

	if (n > 0 && state->is_empty)
		advance_double(aggregate, state, values[i++], memory);
	switch (aggregate->typbyval || aggregate->transition_oid == F_FLOAT8_ACCUM
				? aggregate->transition_oid
				: InvalidOid)
	{
		case F_INT8INC:
		case F_INT8INC_ANY:
			state->value = Int64GetDatum(DatumGetInt64(state->value) + n - i);
			break;
		case F_FLOAT8PL:
		{
			double sum = DatumGetFloat8(state->value);

			for (; i < n; i++)
				sum = float8_pl(sum, values[i]);
			state->value = Float8GetDatum(sum);
			break;
		}
		case F_FLOAT8SMALLER:
		{
			double least = DatumGetFloat8(state->value);

			for (; i < n; i++)
				least = float8_lt(least, values[i]) ? least : values[i];
			state->value = Float8GetDatum(least);
			break;
		}
		case F_FLOAT8LARGER:
		{
			double greatest = DatumGetFloat8(state->value);

			for (; i < n; i++)
				greatest =
					float8_gt(greatest, values[i]) ? greatest : values[i];
			state->value = Float8GetDatum(greatest);
			break;
		}
		case F_FLOAT8_ACCUM:
			accumulate((double *) ARR_DATA_PTR(
						   DatumGetArrayTypeP(state->value)),
					   values + i, n - i);
			break;
		default:
			for (; i < n; i++)
				advance_double(aggregate, state, values[i], memory);
	}
}

/* A group's state, as the Agg node takes it */
Datum
mts_transition_give(MtsTransition *aggregate, MtsState *state,
					MemoryContext memory, bool *isnull)
{
	FunctionCallInfo call = aggregate->serialize;
	Datum result;

	*isnull = state->is_null;
	if (!call || state->is_null)
		return state->value;
	call->args[0].value = state->value;
	call->args[0].isnull = false;
	call->isnull = false;
	aggregate->context->curaggcontext = memory;
	result = FunctionCallInvoke(call);
	*isnull = call->isnull;
	return result;
}
