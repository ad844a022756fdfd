import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;

/**
 * Tests inserts in batches and by COPY, updates and deletes, and their
 * results.
 */
class Writes
{
	private static final OffsetDateTime BEGIN = OffsetDateTime.parse("2013-10-10T14:00:00Z");
	private static final String INSERT = "INSERT INTO written VALUES (?, ?, ?)";

	private Writes()
	{
	}

	static void test(Connection connection) throws SQLException, IOException
	{
		batch(connection, "pgjdbc", "a batch");
		try (Connection rewriting = Jdbc.connect("reWriteBatchedInserts=true"))
		{
			batch(rewriting, "pgjdbc rewritten", "reWriteBatchedInserts");
		}
		try (Connection binary = Jdbc.connect("prepareThreshold=-1"))
		{
			batch(binary, "pgjdbc binary", "a batch, prepareThreshold=-1");
			types(binary, "pgjdbc binary");
		}
		types(connection, "pgjdbc");
		keys(connection);
		changes(connection);
		copy(connection);
	}

	/** Insert 1,000 rows in a batch, without autocommit, and read them back. */
	private static void batch(Connection connection, String client, String name) throws SQLException
	{
		List<List<Object>> rows = new ArrayList<>();

		connection.setAutoCommit(false);
		try (PreparedStatement insert = connection.prepareStatement(INSERT))
		{
			for (int i = 0; i < 1000; i++)
			{
				rows.add(Arrays.asList(BEGIN.plusSeconds(i), client, i == 7 ? null : i / 8.0));
				for (int column = 0; column < 3; column++)
					insert.setObject(column + 1, rows.get(i).get(column));
				insert.addBatch();
			}
			Tap.same(insert.executeBatch().length, 1000, "pgjdbc: " + name);
			connection.commit();
		}
		connection.setAutoCommit(true);
		Tap.same(read(connection, client), rows, "pgjdbc: " + name + ": its rows");
	}

	private static List<List<Object>> read(Connection connection, String client) throws SQLException
	{
		try (PreparedStatement query = connection.prepareStatement(
			"SELECT * FROM written WHERE client = ? ORDER BY \"timestamp\""))
		{
			query.setString(1, client);
			return Jdbc.list(query.executeQuery());
		}
	}

	/** INSERT .. ON CONFLICT DO NOTHING, and its results */
	private static void keys(Connection connection) throws SQLException
	{
		try (PreparedStatement insert = connection.prepareStatement(
			"INSERT INTO written VALUES (?, 'pgjdbc', 1), (?, 'pgjdbc', 2) ON CONFLICT DO NOTHING",
			new String[] {"timestamp", "value"}))
		{
			insert.setObject(1, BEGIN);
			insert.setObject(2, BEGIN.minusHours(1));
			Tap.same(insert.executeUpdate(), 1, "pgjdbc: ON CONFLICT DO NOTHING");
			Tap.same(Jdbc.list(insert.getGeneratedKeys()), List.of(List.of(BEGIN.minusHours(1), 2.0)),
				"pgjdbc: getGeneratedKeys");
		}
		try (PreparedStatement insert = connection.prepareStatement(INSERT, Statement.RETURN_GENERATED_KEYS))
		{
			for (int i = 1; i <= 2; i++)
			{
				insert.setObject(1, BEGIN.minusHours(i));
				insert.setString(2, "pgjdbc keys");
				insert.setDouble(3, i);
				insert.addBatch();
			}
			insert.executeBatch();
			Tap.same(Jdbc.list(insert.getGeneratedKeys()), List.of(
				List.of(BEGIN.minusHours(1), "pgjdbc keys", 1.0), List.of(BEGIN.minusHours(2), "pgjdbc keys", 2.0)),
				"pgjdbc: getGeneratedKeys of a batch");
		}
	}

	private static void changes(Connection connection) throws SQLException
	{
		try (PreparedStatement update = connection.prepareStatement(
			"UPDATE written SET value = value + ? WHERE client = ? AND \"timestamp\" = ANY(?)"))
		{
			update.setDouble(1, 0.5);
			update.setString(2, "pgjdbc");
			update.setArray(3, connection.createArrayOf("timestamptz",
				new Object[] {BEGIN, BEGIN.plusSeconds(1), BEGIN.plusYears(1)}));
			Tap.same(update.executeUpdate(), 2, "pgjdbc: UPDATE");
		}
		try (PreparedStatement delete = connection.prepareStatement(
			"DELETE FROM written WHERE client = ? AND (\"timestamp\" < ? OR \"timestamp\" >= ?)"))
		{
			delete.setString(1, "pgjdbc");
			delete.setObject(2, BEGIN);
			delete.setObject(3, BEGIN.plusSeconds(2));
			Tap.same(delete.executeUpdate(), 999, "pgjdbc: DELETE");
		}
		Tap.same(read(connection, "pgjdbc"), List.of(List.of(BEGIN, "pgjdbc", 0.5),
			List.of(BEGIN.plusSeconds(1), "pgjdbc", 0.625)), "pgjdbc: what is left");
	}

	/** Round trips of all types */
	private static void types(Connection connection, String client) throws SQLException
	{
		PGobject document = new PGobject();
		List<Object> row = List.of(BEGIN, client, 7, (1L << 60) + 1, new BigDecimal("12.345"), 0.1, true,
			LocalDateTime.parse("2013-10-10T16:00:00"), LocalDate.parse("2013-10-10"),
			UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), document);

		document.setType("jsonb");
		document.setValue("{\"a\": [1, null]}");
		try (PreparedStatement insert = connection.prepareStatement("INSERT INTO typed (\"timestamp\", client, "
			+ "whole, large, exact, real, flag, at, day, id, document, bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"))
		{
			for (int i = 0; i < row.size(); i++)
				insert.setObject(i + 1, row.get(i));
			insert.setBytes(12, new byte[] {0, -1});
			Tap.same(insert.executeUpdate(), 1, "pgjdbc: all types, " + client);
		}
		try (PreparedStatement query = connection.prepareStatement("SELECT \"timestamp\", client, whole, large, "
			+ "exact, real, flag, at, day, id, document, bytes FROM typed WHERE client = ?"))
		{
			query.setString(1, client);
			try (ResultSet result = query.executeQuery())
			{
				result.next();
				List<Object> got = Jdbc.row(result).subList(0, row.size());

				got.set(7, result.getObject(8, LocalDateTime.class));
				got.set(8, result.getObject(9, LocalDate.class));
				Tap.same(got, row, "pgjdbc: all types back, " + client);
				Tap.same(Arrays.toString(result.getBytes(12)), "[0, -1]", "pgjdbc: bytes back, " + client);
			}
		}
	}

	private static void copy(Connection connection) throws SQLException, IOException
	{
		StringBuilder in = new StringBuilder();
		StringWriter out = new StringWriter();
		var manager = connection.unwrap(PGConnection.class).getCopyAPI();

		for (int i = 0; i < 1000; i++)
			in.append(BEGIN.plusSeconds(i).toLocalDateTime().toString().replace('T', ' '))
				.append(BEGIN.plusSeconds(i).getSecond() == 0 ? ":00+00" : "+00").append(",copy,").append(i).append('\n');
		Tap.same(manager.copyIn("COPY written FROM STDIN (FORMAT csv)", new StringReader(in.toString())), 1000L,
			"pgjdbc: CopyManager, in");
		manager.copyOut("COPY (SELECT to_char(\"timestamp\" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS+00'), "
			+ "client, value FROM written WHERE client = 'copy' ORDER BY \"timestamp\") TO STDOUT (FORMAT csv)", out);
		Tap.same(out.toString(), in.toString(), "pgjdbc: CopyManager, out");
	}
}
