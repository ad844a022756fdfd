/*
 * transition.c
 *		Advance the transition values of aggregates by PostgreSQL's functions.
 *
 * The values become partial states, which PostgreSQL's Agg node combines and
 * finishes.  Results, types, NULLs and errors are therefore PostgreSQL's.
 *
 * A transition function asks AggCheckCallContext() for the memory of its
 * value.  It accepts the context of an Agg node or of a window aggregate.  An
 * extension cannot make the former without a plan, so the functions get a
 * WindowAggState that has nothing but the memory.
 *
 * Only aggregates of PostgreSQL itself come here.  Their strict functions
 * return no NULL, so a NULL transition value of a strict function has had no
 * input.
 */
#include "agg/transition.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "parser/parse_agg.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static FunctionCallInfo
make_call(Oid function, int nargs, Oid collation, WindowAggState *context)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(nargs));
	FmgrInfo *flinfo = palloc0(sizeof(FmgrInfo));

	fmgr_info(function, flinfo);
	InitFunctionCallInfoData(*call, flinfo, nargs, collation, (Node *) context,
							 NULL);
	return call;
}

/* Convert the initial value, which the catalog has as text. */
static NullableDatum
read_initial(HeapTuple tuple, Oid type)
{
	NullableDatum initial = {.isnull = true};
	Datum source =
		SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval,
						&initial.isnull);
	Oid input, ioparam;

	if (initial.isnull)
		return initial;
	getTypeInputInfo(type, &input, &ioparam);
	initial.value =
		OidInputFunctionCall(input, TextDatumGetCString(source), ioparam, -1);
	return initial;
}

/* Let a polymorphic transition function know the types of its arguments. */
static void
set_expression(const MtsTransition *transition, const Aggref *aggref)
{
	Oid types[FUNC_MAX_ARGS];
	int n = get_aggregate_argtypes((Aggref *) aggref, types);
	Expr *expr;

	build_aggregate_transfn_expr(types, n, 0, false, aggref->aggtranstype,
								 aggref->inputcollid, transition->transfn_oid,
								 InvalidOid, &expr, NULL);
	fmgr_info_set_expr((Node *) expr, transition->transfn->flinfo);
}

/*
 * mts_transition_init
 *		Look up the functions of an aggregate, whose transition values live in
 *		a memory context.
 */
void
mts_transition_init(MtsTransition *transition, const Aggref *aggref,
					MemoryContext memory)
{
	HeapTuple tuple =
		SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	WindowAggState *context = makeNode(WindowAggState);
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	context->curaggcontext = memory;
	transition->context = context;
	transition->transfn_oid = form->aggtransfn;
	transition->transfn =
		make_call(form->aggtransfn, list_length(aggref->args) + 1,
				  aggref->inputcollid, context);
	transition->combinefn =
		make_call(form->aggcombinefn, 2, aggref->inputcollid, context);
	if (aggref->aggtranstype == INTERNALOID)
		transition->serialfn =
			make_call(form->aggserialfn, 1, InvalidOid, context);
	get_typlenbyval(aggref->aggtranstype, &transition->typlen,
					&transition->typbyval);
	transition->initial = read_initial(tuple, aggref->aggtranstype);
	set_expression(transition, aggref);
	ReleaseSysCache(tuple);
}

/* Copy a value that is not null into the memory of transition values. */
static Datum
copy_value(const MtsTransition *transition, Datum value)
{
	MemoryContext old =
		MemoryContextSwitchTo(transition->context->curaggcontext);

	value = datumCopy(value, transition->typbyval, transition->typlen);
	MemoryContextSwitchTo(old);
	return value;
}

/* mts_transition_start: set a new group's transition value. */
void
mts_transition_start(const MtsTransition *transition, NullableDatum *state)
{
	*state = transition->initial;
	if (!state->isnull)
		state->value = copy_value(transition, state->value);
}

/* Replace a transition value, unless a function has changed it in place. */
static void
replace_value(const MtsTransition *transition, NullableDatum *state,
			  NullableDatum new)
{
	if (!transition->typbyval &&
		DatumGetPointer(new.value) != DatumGetPointer(state->value))
	{
		if (!new.isnull)
			new.value = copy_value(transition, new.value);
		if (!state->isnull)
			pfree(DatumGetPointer(state->value));
	}
	*state = new;
}

/* Tell whether an argument after the transition value is null. */
static bool
has_null_input(const FunctionCallInfoBaseData *call)
{
	for (int i = 1; i < call->nargs; i++)
		if (call->args[i].isnull)
			return true;
	return false;
}

/* Call the transition or the combine function. */
static void
call_function(const MtsTransition *transition, FunctionCallInfo call,
			  NullableDatum *state)
{
	NullableDatum result;

	if (call->flinfo->fn_strict)
	{
		if (has_null_input(call))
			return;
		/* the first input, which has the same type, becomes the value */
		if (state->isnull)
		{
			replace_value(transition, state, call->args[1]);
			return;
		}
	}
	call->args[0] = *state;
	call->isnull = false;
	result.value = FunctionCallInvoke(call);
	result.isnull = call->isnull;
	replace_value(transition, state, result);
}

/*
 * mts_transition_advance
 *		Advance a transition value by a point.
 *
 * The caller has set the arguments of transfn after the first.  The function
 * may leave garbage in the current memory context.
 */
void
mts_transition_advance(const MtsTransition *transition, NullableDatum *state)
{
	call_function(transition, transition->transfn, state);
}

/*
 * mts_transition_combine
 *		Combine a transition value with that of other points, which is not
 *		null.
 *
 * The function may leave garbage in the current memory context.
 */
void
mts_transition_combine(const MtsTransition *transition, NullableDatum *state,
					   Datum other)
{
	transition->combinefn->args[1].value = other;
	transition->combinefn->args[1].isnull = false;
	call_function(transition, transition->combinefn, state);
}

/* ---- Many values -------------------------------------------------------- */

static void
advance_value(const MtsTransition *transition, NullableDatum *state,
			  NullableDatum value)
{
	if (transition->transfn->nargs > 1)
		transition->transfn->args[1] = value;
	mts_transition_advance(transition, state);
}

/*
 * Do what float8_accum() does, for many values: compute their count, their sum
 * and, by the method of Youngs and Cramer, the sum of squared differences.
 */
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

static int64
sum_integers(const Datum *values, int n)
{
	int64 sum = 0;

	for (int i = 0; i < n; i++)
		sum += (int64) values[i];
	return sum;
}

/* Do what int4_avg_accum() does, for many values. */
static void
accumulate_integers(int64 *state, const Datum *values, int n)
{
	state[0] += n;
	state[1] += sum_integers(values, n);
}

/* A Datum of each integer type has the bits of a bigint. */
static Datum
least_integer(Datum least, const Datum *values, int n)
{
	for (int i = 0; i < n; i++)
		least = (int64) values[i] < (int64) least ? values[i] : least;
	return least;
}

static Datum
greatest_integer(Datum greatest, const Datum *values, int n)
{
	for (int i = 0; i < n; i++)
		greatest = (int64) values[i] > (int64) greatest ? values[i] : greatest;
	return greatest;
}

/*
 * Advance a transition value by many points, each with a value that is not
 * null.  The most common transition functions are done here in a loop, as
 * their calls would take most of the time; the others are called.
 */
static void
advance_values(const MtsTransition *transition, NullableDatum *state,
			   const Datum *values, int n)
{
	/* where doubles are passed by value, a Datum has the bits of one */
	const double *doubles = (const double *) values;
	int i = 0;

	if (n > 0 && state->isnull)
	{
		advance_value(transition, state,
					  (NullableDatum){values ? values[0] : 0});
		i++;
	}
	switch (transition->transfn_oid)
	{
		case F_INT8INC:
		case F_INT8INC_ANY:
			state->value = Int64GetDatum(DatumGetInt64(state->value) + n - i);
			break;
		case F_FLOAT8PL:
		{
			double sum = DatumGetFloat8(state->value);

			for (; i < n; i++)
				sum = float8_pl(sum, doubles[i]);
			state->value = Float8GetDatum(sum);
			break;
		}
		case F_FLOAT8SMALLER:
		{
			double least = DatumGetFloat8(state->value);

			for (; i < n; i++)
				least = float8_lt(least, doubles[i]) ? least : doubles[i];
			state->value = Float8GetDatum(least);
			break;
		}
		case F_FLOAT8LARGER:
		{
			double greatest = DatumGetFloat8(state->value);

			for (; i < n; i++)
				greatest =
					float8_gt(greatest, doubles[i]) ? greatest : doubles[i];
			state->value = Float8GetDatum(greatest);
			break;
		}
		case F_INT2SMALLER:
		case F_INT4SMALLER:
		case F_INT8SMALLER:
		case F_TIMESTAMPTZ_SMALLER:
			state->value = least_integer(state->value, values + i, n - i);
			break;
		case F_INT2LARGER:
		case F_INT4LARGER:
		case F_INT8LARGER:
		case F_TIMESTAMPTZ_LARGER:
			state->value = greatest_integer(state->value, values + i, n - i);
			break;
		case F_INT2_SUM:
		case F_INT4_SUM:
			state->value = Int64GetDatum(DatumGetInt64(state->value) +
										 sum_integers(values + i, n - i));
			break;
		case F_INT2_AVG_ACCUM:
		case F_INT4_AVG_ACCUM:
			accumulate_integers((int64 *) ARR_DATA_PTR(
									DatumGetArrayTypeP(state->value)),
								values + i, n - i);
			break;
		case F_FLOAT8_ACCUM:
			accumulate((double *) ARR_DATA_PTR(
						   DatumGetArrayTypeP(state->value)),
					   doubles + i, n - i);
			break;
		default:
			for (; i < n; i++)
				advance_value(transition, state,
							  (NullableDatum){values ? values[i] : 0});
	}
}

/*
 * mts_transition_advance_many
 *		Advance a transition value by many points.
 *
 * The values are NULL if the aggregate has no argument.  *missing tells which
 * of them are null; it is NULL if none is.
 */
void
mts_transition_advance_many(const MtsTransition *transition,
							NullableDatum *state, const Datum *values,
							const bool *missing, int n)
{
	int to;

	if (!missing)
	{
		advance_values(transition, state, values, n);
		return;
	}
	for (int from = 0; from < n; from = to)
	{
		for (to = from + 1; to < n && missing[to] == missing[from];)
			to++;
		if (!missing[from])
			advance_values(transition, state, values + from, to - from);
		else if (!transition->transfn->flinfo->fn_strict)
			for (int i = from; i < to; i++)
				advance_value(transition, state,
							  (NullableDatum){.isnull = true});
	}
}

/*
 * mts_transition_serialize
 *		A transition value in the form that the Agg node above the scan
 *		accepts.
 */
NullableDatum
mts_transition_serialize(const MtsTransition *transition,
						 const NullableDatum *state)
{
	FunctionCallInfo call = transition->serialfn;
	NullableDatum result = *state;

	if (!call || state->isnull)
		return result;
	call->args[0] = *state;
	call->isnull = false;
	result.value = FunctionCallInvoke(call);
	result.isnull = call->isnull;
	return result;
}
