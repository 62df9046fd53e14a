package org.benchsite.rocksdb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.benchsite.ycsb.Settings;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** A data folder that this process has open: records in the default column family, the marker in one of its own. */
final class Database implements AutoCloseable {
    private static final byte[] MARKERS = "benchsite".getBytes();
    private static final long BYTES_PER_MB = 1024 * 1024;

    final RocksDB db;
    final ColumnFamilyHandle records;
    final ColumnFamilyHandle markers;
    /** Closed in this order: what refers to others first. */
    private final List<AutoCloseable> owned = new ArrayList<>();

    /** Opens the folder, and makes the database where it is empty. */
    Database(Settings settings) throws RocksDBException, IOException {
        Path folder = Path.of(settings.text("rocksdb.dir"));
        if (!Files.isDirectory(folder)) {
            throw new IOException("there is no folder rocksdb.dir = " + folder);
        }
        // The native library is unpacked beside the data, where it goes with the deployment even if this process is killed.
        NativeLibraryLoader.getInstance().loadLibrary(folder.toAbsolutePath().getParent().toString());
        Cache cache = new LRUCache(settings.whole("rocksdb.cache_mb") * BYTES_PER_MB);
        ColumnFamilyOptions family = new ColumnFamilyOptions()
            .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache))
            .setWriteBufferSize(settings.whole("rocksdb.write_buffer_mb") * BYTES_PER_MB)
            .setCompressionType(CompressionType.getCompressionType(settings.text("rocksdb.compression")));
        DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true)
            .setMaxBackgroundJobs(settings.whole("rocksdb.max_background_jobs"));
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        try {
            db = RocksDB.open(options, folder.toString(), List.of(
                new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family),
                new ColumnFamilyDescriptor(MARKERS)), handles);
        } finally {
            owned.addAll(handles);
        }
        owned.addAll(List.of(db, options, family, cache));
        records = handles.get(0);
        markers = handles.get(1);
    }

    /** A planned end writes down what is in memory only, in every mode. */
    @Override
    public void close() {
        for (AutoCloseable each : owned) {
            try {
                each.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
