// Threads that run one loop together, again and again; the caller's thread is one of them.
//
// Cost: waking the others takes some ten microseconds, so the caller runs short loops alone.
// Threads: run() may be called from several threads; a call returns when its own loop is done.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace psc {

class WorkerPool {
public:
    explicit WorkerPool(int n_threads) : n_threads_(n_threads) {}
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;
    ~WorkerPool() {
        {
            const std::lock_guard lock(lock_);
            closing_ = true;
        }
        wake_.notify_all();
        for (auto& t : threads_) t.join();
    }

    int n_threads() const { return n_threads_; }

    // Calls body(i) for each i below n, in pieces of `grain`. An exception does not stop the other calls; the first one is rethrown
    // when all have ended. Threads that wake up after the last piece was taken are not waited for.
    void run(std::size_t n, std::size_t grain, const std::function<void(std::size_t)>& body) {
        const auto task = std::make_shared<Task>(n, grain, body);
        if (n_threads_ > 1 && n > grain) {
            const std::lock_guard lock(lock_);
            try {
                while (static_cast<int>(threads_.size()) < n_threads_ - 1) threads_.emplace_back([this] { serve(); });
            } catch (const std::system_error&) {
                // The system has no more threads; the existing ones do the work.
            }
            task_ = task;
            ++round_;
            wake_.notify_all();
        }
        work(*task);
        std::unique_lock lock(task->lock);
        task->all_done.wait(lock, [&] { return task->done == n; });
        if (task->error) std::rethrow_exception(task->error);
    }

private:
    struct Task {
        Task(std::size_t count, std::size_t piece, const std::function<void(std::size_t)>& f) : n(count), grain(piece), body(f) {}
        const std::size_t n, grain;
        const std::function<void(std::size_t)>& body;  // not called once all is done, which the caller waits for
        std::atomic<std::size_t> next{0};
        std::mutex lock;
        std::condition_variable all_done;
        std::size_t done = 0;
        std::exception_ptr error;
    };

    void serve() {
        std::size_t seen = 0;
        for (;;) {
            std::shared_ptr<Task> task;
            {
                std::unique_lock lock(lock_);
                wake_.wait(lock, [&] { return closing_ || round_ != seen; });
                if (closing_) return;
                seen = round_;
                task = task_;
            }
            work(*task);
        }
    }

    static void work(Task& task) {
        for (std::size_t first; (first = task.next.fetch_add(task.grain)) < task.n;) {
            const std::size_t last = std::min(task.n, first + task.grain);
            std::exception_ptr error;
            for (std::size_t i = first; i < last; ++i) {
                try {
                    task.body(i);
                } catch (...) {
                    if (!error) error = std::current_exception();
                }
            }
            const std::lock_guard lock(task.lock);
            if (error && !task.error) task.error = error;
            if ((task.done += last - first) == task.n) task.all_done.notify_one();
        }
    }

    const int n_threads_;
    std::vector<std::thread> threads_;
    std::mutex lock_;
    std::condition_variable wake_;
    std::shared_ptr<Task> task_;
    std::size_t round_ = 0;
    bool closing_ = false;
};

}  // namespace psc
