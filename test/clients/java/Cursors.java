import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

/** Tests cursors, and the classes of times. */
class Cursors
{
	private static final String STOCKS =
		"SELECT price FROM stocks WHERE symbol = 'ACME' ORDER BY \"timestamp\"";

	private Cursors()
	{
	}

	static void test(Connection connection) throws SQLException
	{
		try (Statement statement = connection.createStatement())
		{
			fetches(connection, Jdbc.list(statement, STOCKS));
		}
		savepoints();
		scrolls(connection);
		times(connection);
	}

	/** With a fetch size and without autocommit pgjdbc reads by portals. */
	private static void fetches(Connection connection, List<List<Object>> whole) throws SQLException
	{
		List<List<Object>> first = new ArrayList<>(), second = new ArrayList<>();

		connection.setAutoCommit(false);
		try (Statement one = connection.createStatement(); Statement other = connection.createStatement();
			Statement between = connection.createStatement())
		{
			one.setFetchSize(100);
			other.setFetchSize(70);
			try (ResultSet a = one.executeQuery(STOCKS); ResultSet b = other.executeQuery(STOCKS))
			{
				for (int i = 0; a.next(); i++)
				{
					first.add(Jdbc.row(a));
					if (b.next())
						second.add(Jdbc.row(b));
					if (i == 1000)
						Tap.same(Jdbc.list(between, "SELECT count(*) FROM stocks"), List.of(List.of(27000L)),
							"pgjdbc: a query between those of two cursors");
				}
			}
		}
		connection.setAutoCommit(true);
		Tap.same(first.size(), 5400, "pgjdbc: a fetch size gives all rows");
		Tap.same(first, whole, "pgjdbc: in order");
		Tap.same(second, whole, "pgjdbc: and so does another cursor, read in turn");
	}

	/**
	 * With autosave, an error between the reads of a cursor ends only a
	 * subtransaction.
	 */
	private static void savepoints() throws SQLException
	{
		int count = 0;

		try (Connection connection = Jdbc.connect("autosave=always"); Statement one = connection.createStatement();
			Statement other = connection.createStatement())
		{
			connection.setAutoCommit(false);
			one.setFetchSize(100);
			try (ResultSet result = one.executeQuery(STOCKS))
			{
				while (result.next())
					if (count++ % 1000 == 500)
						try
						{
							other.executeQuery("SELECT 1 / (count(*) - 27000) FROM stocks");
						}
						catch (SQLException error)
						{
							Tap.same(error.getSQLState(), "22012", "pgjdbc: an error between the reads of a cursor");
						}
			}
			connection.commit();
		}
		Tap.same(count, 5400, "pgjdbc: after which it gives all rows");
	}

	private static void scrolls(Connection connection) throws SQLException
	{
		List<BigDecimal> prices = new ArrayList<>();

		try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE,
			ResultSet.CONCUR_READ_ONLY); ResultSet result = statement.executeQuery(STOCKS))
		{
			result.last();
			prices.add(result.getBigDecimal(1));
			result.absolute(3);
			prices.add(result.getBigDecimal(1));
			result.previous();
			prices.add(result.getBigDecimal(1));
		}
		Tap.same(prices.toString(), "[40.59, 41.28, 41.32]", "pgjdbc: a result that scrolls");
		try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE,
			ResultSet.CONCUR_UPDATABLE); ResultSet result = statement.executeQuery("SELECT * FROM written"))
		{
			result.moveToInsertRow();
			Tap.ok(false, "pgjdbc: a result by which rows are changed takes a primary key");
		}
		catch (SQLException error)
		{
			Tap.ok(error.getMessage().contains("No eligible primary or unique key"),
				"pgjdbc: a result by which rows are changed takes a primary key");
		}
	}

	/** The JVM's zone is Europe/Berlin here, two hours from UTC on that day. */
	private static void times(Connection connection) throws SQLException
	{
		List<Object> times = List.of(OffsetDateTime.parse("2013-10-10T19:30:00+05:30"),
			LocalDateTime.parse("2013-10-10T16:00:00"), Timestamp.from(Instant.parse("2013-10-10T14:00:00Z")));
		String sql = "SELECT min(\"timestamp\"), count(*) FROM cpu_load "
			+ "WHERE \"timestamp\" >= ? AND \"timestamp\" < CAST(? AS timestamptz) + interval '1 minute'";

		for (Object time : times)
			try (PreparedStatement statement = connection.prepareStatement(sql))
			{
				statement.setObject(1, time);
				statement.setObject(2, time);
				Tap.same(Jdbc.list(statement.executeQuery()),
					List.of(List.of(OffsetDateTime.parse("2013-10-10T14:00:00Z"), 120L)),
					"pgjdbc: a " + time.getClass().getSimpleName() + " as a parameter");
			}
		try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(
			"SELECT min(\"timestamp\"), CAST(min(\"timestamp\") AS date) FROM cpu_load"))
		{
			result.next();
			Tap.same(List.of(result.getTimestamp(1).toInstant(), result.getObject(1, OffsetDateTime.class)
				.toLocalDateTime(), result.getObject(2, LocalDate.class)),
				List.of(Instant.parse("2013-10-10T08:00:00Z"), LocalDateTime.parse("2013-10-10T08:00:00"),
				LocalDate.parse("2013-10-10")), "pgjdbc: a time as a Timestamp, an OffsetDateTime, and its date");
		}
	}
}
