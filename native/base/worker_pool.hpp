// Threads that run one loop together, again and again; the caller's thread is one of them.
//
// Cost: waking the others takes some ten microseconds, so the caller runs short loops alone.
// Threads: run() may be called from several threads; a call returns when its own loop is done.
// Forks: a child has the parent's locks as they were, and not its threads. So it begins with new ones, and forgets the others: what
// joins them, or destroys what they wait for, dies or waits for ever.
#pragma once

#include <unistd.h>

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
    explicit WorkerPool(int n_threads) : n_threads_(n_threads), threads_(new Threads) {}
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;
    ~WorkerPool() {
        Threads* const mine = threads_;
        if (mine->process != ::getpid()) return;
        {
            const std::lock_guard lock(mine->lock);
            mine->closing = true;
        }
        mine->wake.notify_all();
        for (auto& t : mine->all) t.join();
        delete mine;
    }

    int n_threads() const { return n_threads_; }

    // Calls body(i) for each i below n, in pieces of `grain`. An exception does not stop the other calls; the first one is rethrown
    // when all have ended. Threads that wake up after the last piece was taken are not waited for.
    void run(std::size_t n, std::size_t grain, const std::function<void(std::size_t)>& body) {
        const auto task = std::make_shared<Task>(n, grain, body);
        if (n_threads_ > 1 && n > grain) {
            Threads& threads = of_this_process();
            const std::lock_guard lock(threads.lock);
            try {
                while (static_cast<int>(threads.all.size()) < n_threads_ - 1)
                    threads.all.emplace_back([&threads] { serve(threads); });
            } catch (const std::system_error&) {
                // The system has no more threads; the existing ones do the work.
            }
            threads.task = task;
            ++threads.round;
            threads.wake.notify_all();
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

    struct Threads {
        const pid_t process = ::getpid();
        std::vector<std::thread> all;
        std::mutex lock;
        std::condition_variable wake;
        std::shared_ptr<Task> task;
        std::size_t round = 0;
        bool closing = false;
    };

    Threads& of_this_process() {
        Threads* found = threads_;
        if (found->process == ::getpid()) return *found;
        auto fresh = std::make_unique<Threads>();
        return threads_.compare_exchange_strong(found, fresh.get()) ? *fresh.release() : *found;
    }

    static void serve(Threads& threads) {
        std::size_t seen = 0;
        for (;;) {
            std::shared_ptr<Task> task;
            {
                std::unique_lock lock(threads.lock);
                threads.wake.wait(lock, [&] { return threads.closing || threads.round != seen; });
                if (threads.closing) return;
                seen = threads.round;
                task = threads.task;
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
    std::atomic<Threads*> threads_;
};

}  // namespace psc
