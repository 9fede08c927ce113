package vfs

import pvfs "github.com/cockroachdb/pebble/v2/vfs"

// SyncDir makes the names in dir durable.
func SyncDir(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// WriteFile makes or replaces the file name in dir, so that after a crash it has
// the old contents or the new ones, never a part. It is durable on return.
func WriteFile(fs FS, dir, name string, data []byte) error {
	tmp, final := fs.PathJoin(dir, name+".tmp"), fs.PathJoin(dir, name)
	f, err := fs.Create(tmp, WriteCategory)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fs.Rename(tmp, final)
	}
	if err == nil {
		err = SyncDir(fs, dir)
	}
	return err
}

// ReadFile returns the contents of the file at path.
func ReadFile(fs FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Size())
	if len(b) == 0 {
		return b, nil
	}
	_, err = f.ReadAt(b, 0)
	return b, err
}

// LinkOrCopy gives the file at oldname a second name, or copies it where the file
// system cannot. The name is durable after SyncDir.
func LinkOrCopy(fs FS, oldname, newname string) error {
	return pvfs.LinkOrCopy(fs, oldname, newname)
}
